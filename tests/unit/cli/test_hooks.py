"""`memctl hooks`: the hooks in programs' settings, and the log of their decisions."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.cli.doctor import check_hooks
from memd.cli.hook_setup.entries import with_hooks, without_hooks
from memd.programs.catalog import HOOKS, PROGRAMS, Places
from memd.programs.connections import find_hooks
from memd_client.hooks import EVENTS, HookLogEntry, HookLogReply
from tests.unit.cli.memctl_runner import memctl

VARIABLES = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "COPILOT_HOME", "MEMD_SOCKET")

SHARED = [name for name, form in HOOKS.items() if not form.is_own_file]

OWN = [name for name, form in HOOKS.items() if form.is_own_file]

FOREIGN_GROUPED = """\
{
    // kept as it is
    "model": "opus",
    "hooks": {
        "SessionStart": [
            { "matcher": "startup", "hooks": [ { "type": "command", "command": "date" } ] }
        ],
        "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]
    },
    "permissions": {"allow": ["Bash(ls:*)"]}
}
"""

FOREIGN_FLAT = """\
{
\t"version": 1,
\t"hooks": {
\t\t"sessionStart": [{ "command": "./audit.sh" }],
\t\t"stop": [ { "command": "./done.sh" } ]
\t}
}
"""

INSTALLED_ALREADY = "hooks are installed in"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder, without variables that change paths."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def file_of(name: str, home: Path) -> Path:
    """Return a program's file in a home folder."""
    (file,) = Places(home, {}).paths([HOOKS[name].file])
    return file


def foreign_text(name: str) -> str:
    """Return settings with hooks of the user's own."""
    return FOREIGN_GROUPED if HOOKS[name].is_grouped else FOREIGN_FLAT


def write_settings(name: str, home: Path, text: str) -> Path:
    """Write a program's file."""
    file = file_of(name, home)
    file.parent.mkdir(parents=True)
    file.write_bytes(text.encode())
    return file


def commands_of(name: str, text: str) -> dict[str, list[str]]:
    """Return the words of memd's command of each event."""
    form = HOOKS[name]
    return {str(place[1]): shlex.split(str(hook[form.command_key])) for place, hook in find_hooks(form, text)}


@pytest.mark.parametrize("name", HOOKS)
def test_installing_twice_adds_each_hook_once(home: Path, name: str) -> None:
    file = file_of(name, home)

    first = memctl("hooks", "install", name, "--agent", "work")
    written = file.read_bytes()
    again = memctl("hooks", "install", name, "--agent", "work")

    assert (first.code, again.code) == (0, 0)
    assert first.out == f"installed hooks in {PROGRAMS[name].title}: {file}\n"
    assert HOOKS[name].next_step in first.err
    assert again.out.startswith(INSTALLED_ALREADY)
    assert file.read_bytes() == written
    commands = commands_of(name, written.decode())
    assert list(commands) == list(HOOKS[name].events.values())
    for event, spoken in HOOKS[name].events.items():
        assert commands[spoken][-4:] == [name, event, "--agent", "work"]


@pytest.mark.parametrize("name", HOOKS)
def test_uninstalling_what_was_the_first_file_leaves_none(home: Path, name: str) -> None:
    memctl("hooks", "install", name)

    ran = memctl("hooks", "uninstall", name)

    assert ran.code == 0
    assert [each for each in home.rglob("*") if each.is_file() and each.suffix != ".bak"] == []
    assert memctl("hooks", "uninstall", name).out.startswith(f"{PROGRAMS[name].title} has no hooks of memd")


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize(
    "edit",
    [
        str,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("]\n", "],\n"),
        lambda _: "{}",
        lambda _: "",
    ],
)
def test_uninstalling_restores_the_file_byte_for_byte(home: Path, name: str, edit: Any) -> None:
    original = edit(foreign_text(name))
    file = write_settings(name, home, original)

    memctl("hooks", "install", name)
    memctl("hooks", "install", name, "--agent", "other")
    assert commands_of(name, file.read_bytes().decode())
    ran = memctl("hooks", "uninstall", name)

    assert ran.code == 0
    assert file.read_bytes() == original.encode()


@pytest.mark.parametrize("name", SHARED)
def test_hooks_of_others_are_kept_when_the_file_changed_after_installing(home: Path, name: str) -> None:
    file = write_settings(name, home, foreign_text(name))
    memctl("hooks", "install", name)
    changed = file.read_text().replace("{\n", '{\n  "added": true,\n', 1)
    file.write_text(changed)

    memctl("hooks", "uninstall", name)

    assert file.read_text() == foreign_text(name).replace("{\n", '{\n  "added": true,\n', 1)


@pytest.mark.parametrize("name", SHARED)
def test_a_backup_has_the_file_as_it_was(home: Path, name: str) -> None:
    file = write_settings(name, home, foreign_text(name))
    file.chmod(0o640)

    ran = memctl("hooks", "install", name)

    [backup] = file.parent.glob("*.bak")
    assert f"backup: {backup}" in ran.err
    assert backup.read_text() == foreign_text(name)
    assert file.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("name", HOOKS)
def test_a_dry_run_shows_the_change_and_writes_nothing(home: Path, name: str) -> None:
    shown = memctl("hooks", "install", name, "--dry-run")

    assert shown.code == 0
    assert f"+++ {file_of(name, home)} (new)" in shown.out
    assert "memd_client/hook.py" in shown.out
    assert list(home.iterdir()) == []

    memctl("hooks", "install", name)
    before = file_of(name, home).read_bytes()
    removal = memctl("hooks", "uninstall", name, "--dry-run")

    assert "-" in removal.out
    assert file_of(name, home).read_bytes() == before


@pytest.mark.parametrize("name", HOOKS)
@pytest.mark.parametrize("broken", ['{"hooks": ', '{"hooks": []}', "[]", '{"hooks": {"%s": {}}}', "\xff"])
@pytest.mark.parametrize("action", ["install", "uninstall"])
def test_a_broken_file_is_refused_and_unchanged(home: Path, name: str, broken: str, action: str) -> None:
    file = write_settings(name, home, "")
    text = broken.replace("%s", next(iter(HOOKS[name].events.values())))
    file.write_bytes(text.encode("latin-1"))

    ran = memctl("hooks", action, name)

    assert ran.code == 1
    assert str(file) in ran.err
    assert "hint: " in ran.err
    assert file.read_bytes() == text.encode("latin-1")
    assert [each for each in home.rglob("*") if each.is_file()] == [file]


@pytest.mark.parametrize("name", OWN)
def test_a_file_of_that_name_without_hooks_of_memd_is_not_replaced(home: Path, name: str) -> None:
    file = write_settings(name, home, '{"hooks": {}}')

    ran = memctl("hooks", "install", name)

    assert ran.code == 1
    assert f"{file} has no hooks of memd" in ran.err
    assert file.read_text() == '{"hooks": {}}'


def test_limits_are_in_the_unit_of_each_program(home: Path) -> None:
    limits = {}
    for name in HOOKS:
        memctl("hooks", "install", name)
        form = HOOKS[name]
        hooks = [hook for _, hook in find_hooks(form, file_of(name, home).read_text())]
        limits[name] = {hook.get("timeout", hook.get("timeoutSec")) for hook in hooks}

    assert limits == {
        "claude-code": {5}, "codex": {3}, "gemini": {5000}, "qwen": {5000}, "cursor": {5}, "copilot": {5}
    }  # fmt: skip


def test_gemini_gets_an_extension(home: Path) -> None:
    memctl("hooks", "install", "gemini")

    folder = home / ".gemini" / "extensions" / "memd"
    manifest = json.loads((folder / "gemini-extension.json").read_text())
    hooks = json.loads((folder / "hooks" / "hooks.json").read_text())["hooks"]
    assert manifest["name"] == "memd"
    assert list(hooks) == ["SessionStart", "BeforeAgent", "SessionEnd", "AfterTool"]
    assert hooks["BeforeAgent"][0]["hooks"][0]["type"] == "command"


def test_cursor_and_copilot_files_have_version_1(home: Path) -> None:
    for name in ("cursor", "copilot"):
        memctl("hooks", "install", name)
        assert json.loads(file_of(name, home).read_text())["version"] == 1


def test_codex_is_said_to_need_the_acceptance_of_the_hooks(home: Path) -> None:
    assert "accept the hooks: start Codex, which lists them" in memctl("hooks", "install", "codex").err


@pytest.mark.parametrize(
    ("name", "variable", "path"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", "settings.json"),
        ("codex", "CODEX_HOME", "hooks.json"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/extensions/memd/hooks/hooks.json"),
        ("copilot", "COPILOT_HOME", "hooks/memd.json"),
    ],
)
def test_folders_in_the_programs_variables_are_used(
    home: Path, monkeypatch: pytest.MonkeyPatch, name: str, variable: str, path: str
) -> None:
    monkeypatch.setenv(variable, str(home / "elsewhere"))

    memctl("hooks", "install", name)

    assert (home / "elsewhere" / path).is_file()


def test_a_socket_of_ones_own_is_part_of_the_command(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMD_SOCKET", "/run/my own.sock")

    memctl("hooks", "install", "codex")

    for words in commands_of("codex", file_of("codex", home).read_text()).values():
        assert words[-2:] == ["--socket", "/run/my own.sock"]


def test_the_installed_command_runs_and_prints_nothing_without_a_daemon(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMD_SOCKET", str(home / "no.sock"))
    memctl("hooks", "install", "claude-code")

    for words in commands_of("claude-code", file_of("claude-code", home).read_text()).values():
        ran = subprocess.run(
            words, input=b'{"session_id": "a", "prompt": "b"}', capture_output=True, check=True
        )
        assert (ran.stdout, ran.stderr) == (b"", b"")


def hook_commands(name: str, home: Path) -> list[str]:
    """Return the commands in a program's file, as the program gives them to a shell."""
    form = HOOKS[name]
    return [str(hook[form.command_key]) for _, hook in find_hooks(form, file_of(name, home).read_text())]


@pytest.mark.parametrize("name", HOOKS)
@pytest.mark.parametrize("lost", ["python", "hook.py", "library"])
def test_the_installed_command_succeeds_silently_once_memd_is_gone(
    home: Path, monkeypatch: pytest.MonkeyPatch, name: str, lost: str
) -> None:
    python, hook = home / "memd's venv" / "python", home / "memd_client" / "hook.py"
    for file in (python, hook):
        file.parent.mkdir()
        file.write_text("#!/bin/sh\necho broken >&2\nexit 127\n")
        file.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(python))
    monkeypatch.setattr("memd_client.hook.__file__", str(hook))
    assert memctl("hooks", "install", name).code == 0
    if lost != "library":
        (python if lost == "python" else hook).unlink()

    for command in hook_commands(name, home):
        ran = subprocess.run(["sh", "-c", command], input=b"{}", capture_output=True, check=False)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


@pytest.mark.parametrize("name", HOOKS)
def test_hooks_of_the_form_before_are_found_replaced_and_removed(home: Path, name: str) -> None:
    memctl("hooks", "install", name)
    file = file_of(name, home)
    written = file.read_text()
    settings = json.loads(written)
    for place, hook in find_hooks(HOOKS[name], written):
        command = shlex.join(shlex.split(hook[HOOKS[name].command_key])[3:])
        here = settings
        for key in place:
            here = here[key]
        here[HOOKS[name].command_key] = command
    file.write_text(json.dumps(settings, indent=2))

    assert f"{name}  incomplete" in memctl("hooks", "list").out
    assert f"run `memctl hooks install {name}`" in "".join(each.fix for each in check_hooks(home, {}))
    before = file.read_text()
    assert memctl("hooks", "install", name).code == 0
    assert hook_commands(name, home) == [
        str(hook[HOOKS[name].command_key]) for _, hook in find_hooks(HOOKS[name], written)
    ]
    assert check_hooks(home, {}) == []
    file.write_text(before)
    memctl("hooks", "uninstall", name)
    assert not file.exists() or not find_hooks(HOOKS[name], file.read_text())


def test_list_tells_what_is_installed(home: Path) -> None:
    memctl("hooks", "install", "claude-code")
    memctl("hooks", "install", "cursor")
    lost = file_of("cursor", home)
    lost.write_text(lost.read_text().replace("memd_client/hook.py", "gone/memd_client/hook.py"))
    write_settings("codex", home, "{")

    ran = memctl("hooks", "list")
    rows = {each["program"]: each for each in json.loads(memctl("hooks", "list", "--json").out)}

    assert ran.code == 0
    assert f"claude-code  installed  {file_of('claude-code', home)}\n" in ran.out
    assert "run `memctl hooks install cursor` to install them again" in ran.err
    assert {name: row["state"] for name, row in rows.items()} == {
        "claude-code": "installed",
        "codex": "unreadable",
        "gemini": "not installed",
        "qwen": "not installed",
        "cursor": "command missing",
        "copilot": "not installed",
    }
    assert "gone/memd_client/hook.py" in rows["cursor"]["problem"]
    events = "SessionStart UserPromptSubmit PreCompact SessionEnd PreToolUse PostToolUseFailure"
    assert rows["claude-code"]["events"] == events.split()


def test_list_calls_hooks_of_an_older_release_incomplete(home: Path) -> None:
    memctl("hooks", "install", "copilot")
    file = file_of("copilot", home)
    settings = json.loads(file.read_text())
    del settings["hooks"]["preCompact"]
    file.write_text(json.dumps(settings))

    assert "copilot  incomplete" in memctl("hooks", "list").out

    memctl("hooks", "install", "copilot")
    assert "copilot  installed" in memctl("hooks", "list").out


ENTRY = HookLogEntry(
    time_ms=1_799_999_940_000,
    program="claude-code",
    session_id="5f2c",
    event="prompt",
    decision="injected",
    chars=812,
    places=["memory/2026-05-08.md:12-18"],
    prompt="which port has \x1bstaging?",
)

SILENT = HookLogEntry(
    1_799_999_900_000,
    "codex",
    "77",
    "prompt",
    "not_sure",
    0,
    candidate="memory/ports.md#L3",
    lacks="shares 1 of 4 distinctive words",
)

LATE = HookLogEntry(
    1_799_999_900_000, "codex", "77", "prompt", "gave_up", 0, lacks="the search did not finish in time"
)


def test_log_shows_decisions_with_their_places() -> None:
    ran = memctl(
        "hooks", "log", "--limit", "2", "--session", "5f2c", hook_log=HookLogReply([ENTRY, SILENT, LATE])
    )

    assert ran.client.calls == [("hook_log", {"limit": 2, "session_id": "5f2c"})]
    assert ran.out == (
        "2027-01-15 07:59:00  injected  claude-code · prompt · 812 characters · 5f2c\n"
        '  "which port has \\x1bstaging?"\n'
        "  memory/2026-05-08.md:12-18\n"
        "2027-01-15 07:58:20  not_sure  codex · prompt · 77\n"
        "  best candidate: memory/ports.md#L3 · shares 1 of 4 distinctive words\n"
        "2027-01-15 07:58:20  gave_up  codex · prompt · 77\n"
        "  the search did not finish in time\n"
    )


def test_log_without_entries_says_so() -> None:
    assert memctl("hooks", "log", hook_log=HookLogReply()).out == "no entries\n"


def test_log_as_json_is_the_reply() -> None:
    ran = memctl("hooks", "log", "--json", hook_log=HookLogReply([SILENT]))

    [entry] = json.loads(ran.out)["entries"]
    assert (entry["decision"], entry["candidate"]) == ("not_sure", "memory/ports.md#L3")
    assert entry["lacks"] == "shares 1 of 4 distinctive words"


@pytest.mark.parametrize("name", HOOKS)
def test_events_of_a_program_are_those_of_the_protocol(name: str) -> None:
    assert set(HOOKS[name].events) <= set(EVENTS)


COMMANDS = st.sampled_from(["date", "/x/memd_client/hook.py old", "/y/memd_client/hook.py"])

GROUPS = st.lists(
    st.fixed_dictionaries(
        {"hooks": st.lists(st.fixed_dictionaries({"command": COMMANDS}), min_size=1, max_size=3)},
        optional={"matcher": st.just("startup")},
    ),
    min_size=1,
    max_size=3,
)

SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "model": st.text(max_size=4),
        "hooks": st.dictionaries(st.sampled_from(["SessionStart", "Stop"]), GROUPS, max_size=2),
    },
)


def foreign_commands(settings: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the commands that aren't memd's, each with its event."""
    return [
        (event, hook["command"])
        for event, groups in sorted(settings.get("hooks", {}).items())
        for group in groups
        for hook in group["hooks"]
        if "memd_client/hook.py" not in hook["command"]
    ]


@given(SETTINGS, st.sampled_from([None, 2, "\t"]))
def test_any_settings_keep_the_hooks_of_others(settings: dict[str, Any], indent: int | str | None) -> None:
    form = HOOKS["claude-code"]
    text = json.dumps(settings, indent=indent)
    wanted = {name: {"command": f"/z/memd_client/hook.py {name}"} for name in form.events.values()}

    installed = with_hooks(form, text, wanted)
    removed = without_hooks(form, installed)

    assert sorted(str(hook["command"]) for _, hook in find_hooks(form, installed)) == sorted(
        each["command"] for each in wanted.values()
    )
    assert with_hooks(form, installed, wanted) == installed
    assert find_hooks(form, removed) == []
    for after in (json.loads(installed), json.loads(removed)):
        assert foreign_commands(after) == foreign_commands(settings)
        assert after.get("model") == settings.get("model")


def test_the_mode_of_a_new_file_is_private(home: Path) -> None:
    memctl("hooks", "install", "cursor")

    assert os.stat(file_of("cursor", home)).st_mode & 0o777 == 0o600
