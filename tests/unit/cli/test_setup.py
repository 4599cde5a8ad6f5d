"""`memctl setup`: the plan, the files it changes, and taking everything back byte for byte."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memd.cli import source_settings
from memd.cli.setup.ledger import ledger_file
from memd.cli.setup.plan import Step, make_plan
from memd_client.agent_parts import SourceStatus
from memd_client.messages import FilesReply, HookLogReply, IndexReply, SourcesReply
from memd_client.problems import Problem
from tests.unit.cli.memctl_runner import MAIN, MemctlResult, memctl
from tests.unit.cli.memctl_runner import status_of as status_reply

VARIABLES = (
    "XDG_CONFIG_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "COPILOT_HOME",
    "MEMD_SOCKET", "MEMD_CONFIG", "OPENCLAW_STATE_DIR",
)  # fmt: skip

SKILL = ".claude/skills/memd/SKILL.md"
SETTINGS = """\
{
    // mine
    "model": "opus",
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
    }
}
"""
CLAUDE_JSON = '{"numStartups":3,"mcpServers":{"github":{"command":"gh-mcp","args":[]}},"projects":{}}'
CONFIG_TOML = '# mine\r\nmodel = "gpt" # fast\r\n\r\n[mcp_servers.github]\r\ncommand = "gh-mcp"\r\n'
GEMINI = '{\n\t"theme": "dark"\n}'
MEMD_TOML = '# my settings\nexclude = ["client-a"]\n\n[sources.vault] # notes\npath = "/home/ann/Notes"\n'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with three programs, odd formatting and a link, and a state folder outside."""
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENCLAW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(source_settings, "RELOAD_S", 0.0)
    for folder in (".claude/projects", ".codex/sessions", ".gemini", "dotfiles", ".config/memd"):
        (home / folder).mkdir(parents=True)
    write(home / "dotfiles/claude.json", SETTINGS, 0o644)
    (home / ".claude/settings.json").symlink_to(home / "dotfiles/claude.json")
    write(home / ".claude.json", CLAUDE_JSON, 0o600)
    write(home / ".codex/config.toml", CONFIG_TOML, 0o640)
    write(home / ".gemini/settings.json", GEMINI, 0o644)
    write(home / ".config/memd/memd.toml", MEMD_TOML, 0o644)
    return home


def write(path: Path, text: str, mode: int) -> None:
    """Write a file without changing its line ends."""
    path.write_bytes(text.encode())
    path.chmod(mode)


def picture(home: Path) -> dict[str, tuple[int, str]]:
    """Return all names below a folder, each with its mode, and its bytes or the target of a link."""
    names: dict[str, tuple[int, str]] = {}
    for path in sorted(home.rglob("*")):
        mode = path.lstat().st_mode
        text = os.readlink(path) if path.is_symlink() else path.read_bytes().hex() if path.is_file() else ""
        names[str(path.relative_to(home))] = (stat.S_IMODE(mode) if not path.is_symlink() else 0, text)
    return names


def status_of(name: str, *, kind: str = "transcripts", agent: str = "", **more: Any) -> SourceStatus:
    """Return a source with three files."""
    facts = {"files": 3, "bytes": 900, "oldest_ms": 1_790_000_000_000, "newest_ms": 1_795_000_000_000, **more}
    return SourceStatus(name, name, kind, agent, **facts)


FOUND = [status_of("claude-code"), status_of("claude-code-notes", kind="notes"), status_of("codex")]


def setup(*arguments: str, sources: Callable[..., SourcesReply] | None = None) -> MemctlResult:
    """Run `memctl setup` with a daemon that has what `memd.toml` names."""
    from memd.mcp import toml_edit
    from memd.settings.paths import daemon_config_file

    def served(**_: Any) -> SourcesReply:
        file = daemon_config_file()
        named = toml_edit.value_of(file.read_text() if file.exists() else "").get("sources", {})
        owned = [
            status_of(each.name, kind=each.kind, agent=named[each.name]["agent"])
            for each in FOUND
            if each.name in named
        ]
        return SourcesReply(owned, [each for each in FOUND if each.name not in named])

    return memctl(
        "setup",
        *arguments,
        sources=sources or served,
        files=FilesReply("main", [], 0),
        status=status_reply(MAIN),
        index=IndexReply([]),
        hook_log=HookLogReply(),
    )


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start no hooks and MCP servers, as tests/daemon/test_setup.py does."""
    from memd.cli.setup import command
    from memd.cli.setup.prove import Proof

    monkeypatch.setattr(command, "prove", lambda _, kind, name: Proof(name, kind, 1.0))


def test_without_a_terminal_and_yes_nothing_is_changed(home: Path) -> None:
    before = picture(home)

    ran = setup()

    assert ran.code == 0
    assert picture(home) == before
    assert not ledger_file().exists()
    assert "nothing was changed; to do this, run it with --yes" in ran.err
    row = next(line for line in ran.out.splitlines() if line.startswith("Claude Code"))
    assert row.split() == ["Claude", "Code", "3", "3", "1.80", "kB", "2026-09-21", "2026-11-18", *["add"] * 4]
    assert "Their lines will be given to: agent shared, Claude Code, Codex, Gemini CLI." in ran.out


def test_dry_run_shows_the_changes_and_makes_none(home: Path) -> None:
    before = picture(home)

    ran = setup("--dry-run", "--yes")

    assert picture(home) == before
    assert "+[sources.claude-code]\n" in ran.out
    assert f"+++ {home}/.claude.json" in ran.out


def test_only_named_programs_and_kinds_are_changed(home: Path) -> None:
    ran = setup("--yes", "--only", "codex", "--no-hooks", "--no-skill", "--no-sources")

    changed = [
        line.split()[0] for line in ran.out.split("changed files\n")[1].splitlines() if line.startswith("  ~")
    ]
    assert changed == ["~/.codex/config.toml"]
    assert setup("--yes", "--only", "codecs").code == 2


def test_programs_that_were_never_used_get_no_files(home: Path) -> None:
    setup("--yes")

    assert not (home / ".cursor").exists()
    assert not (home / ".copilot").exists()


def test_sources_of_one_program_are_one_row() -> None:
    sources = [
        status_of("cursor"),
        status_of("cursor-editor", bytes=100, oldest_ms=1),
        status_of("copilot-vscode"),
    ]

    plan = make_plan([], sources, "shared", "main")

    assert [(each.name, each.title, each.conversations, each.bytes) for each in plan.programs] == [
        ("copilot", "Copilot CLI", 3, 900),
        ("cursor", "Cursor", 6, 1_000),
    ]
    assert plan.programs[1].oldest_ms == 1


def test_personal_notes_are_left_unless_they_are_named() -> None:
    sources = [status_of("obsidian", kind="notes")]

    (left,) = make_plan([], sources, "shared", "main").programs[0].steps
    (named,) = make_plan([], sources, "shared", "main", {"obsidian"}).programs[0].steps

    assert (left.state, left.is_fault) == ("left", False)
    assert "memctl sources add obsidian" in left.reason
    assert named.state == "add"


def test_an_unreadable_store_is_left_with_its_reason() -> None:
    problem = Problem("source_unreadable", "the database has an unknown schema", "")
    sources = [status_of("opencode", files=0, problems=[problem]), status_of("codex", agent="main")]

    opencode, codex = [
        step for program in make_plan([], sources, "shared", "main").programs[::-1] for step in program.steps
    ]

    assert (opencode.state, opencode.reason, opencode.is_fault) == ("left", problem.message, True)
    assert (codex.state, codex.agent) == ("present", "main")


def test_readers_are_those_who_can_search_afterwards() -> None:
    steps = [
        Step("hooks", "claude-code", "add", readers=[("Claude Code", "")]),
        Step("hooks", "codex", "present", readers=[("Codex", "work")]),
        Step("mcp", "gemini", "left", readers=[("Gemini CLI", "*")]),
    ]
    sources = [status_of("claude-code"), status_of("codex", agent="work"), status_of("gemini", agent="main")]

    plan = make_plan(steps, sources, "shared", "main")

    assert plan.agents == {
        "shared": (["claude-code"], ["Claude Code"]),
        "work": (["codex"], ["Codex"]),
        "main": (["gemini"], ["Claude Code"]),
    }


def test_setup_twice_and_remove_leaves_the_home_as_it_was(home: Path) -> None:
    before = picture(home)

    first, second = setup("--yes"), setup("--yes")
    between = picture(home)
    removed = setup("--remove", "--yes")

    assert (first.code, second.code, removed.code) == (0, 0, 0)
    assert "nothing to change" in second.out
    assert SKILL in between
    assert between["dotfiles/claude.json"] != before["dotfiles/claude.json"]
    assert picture(home) == before
    assert not ledger_file().exists()
    assert setup("--remove", "--yes").out == "setup has changed nothing\n"


def test_each_changed_file_is_shown_with_its_backup(home: Path) -> None:
    ran = setup("--yes")

    shown = ran.out.split("changed files\n")[1]
    for name, text in (
        (".codex/config.toml", CONFIG_TOML),
        (".claude.json", CLAUDE_JSON),
        (".config/memd/memd.toml", MEMD_TOML),
    ):
        (backup,) = (home / name).parent.glob(f"{Path(name).name}.*.bak")
        assert f"~/{name}  backup: ~/{backup.relative_to(home)}" in shown
        assert backup.read_bytes() == text.encode()
    assert f"~/{SKILL}  made by memd" in shown


def test_an_empty_home_gets_its_programs_back_empty(home: Path) -> None:
    for path in (".claude.json", ".codex/config.toml", ".gemini/settings.json", ".config/memd/memd.toml"):
        (home / path).unlink()
    (home / ".config/memd").rmdir()
    before = picture(home)

    setup("--yes")
    assert (home / ".config/memd/memd.toml").exists()
    setup("--remove", "--yes")

    assert picture(home) == before


def test_edits_of_the_user_and_of_programs_are_kept(home: Path) -> None:
    setup("--yes")
    claude = home / ".claude.json"
    settings = json.loads(claude.read_text()) | {"numStartups": 9}
    claude.write_text(json.dumps(settings, indent=4))  # as the program writes it
    with (home / ".codex/config.toml").open("ab") as file:
        file.write(b"\r\n[profiles.fast]\r\nmodel = 'mini'\r\n")
    text = (home / ".config/memd/memd.toml").read_text()
    (home / ".config/memd/memd.toml").write_text(text.replace("# my settings", "# our settings"))

    removed = setup("--remove", "--yes")

    assert json.loads(claude.read_text()) == {**json.loads(CLAUDE_JSON), "numStartups": 9}
    assert (
        home / ".codex/config.toml"
    ).read_bytes().decode() == CONFIG_TOML + "\r\n[profiles.fast]\r\nmodel = 'mini'\r\n"
    assert (home / ".config/memd/memd.toml").read_text() == MEMD_TOML.replace("my", "our")
    assert (
        "~/.claude.json  changed by something else since, so only memd's entries were removed" in removed.out
    )
    assert "~/dotfiles/claude.json  as it was before, byte for byte" in removed.out
    left = sorted(path.name for path in home.rglob("*.bak"))
    assert [name.split(".2")[0] for name in left] == [".claude.json", "config.toml", "memd.toml"]
    assert all(name in removed.out for name in left)


def test_a_file_that_setup_made_goes_if_a_program_wrote_it_again_without_more(home: Path) -> None:
    (home / ".claude.json").unlink()
    before = picture(home)
    setup("--yes")
    claude = home / ".claude.json"
    claude.write_text(json.dumps(json.loads(claude.read_text())))

    setup("--remove", "--yes")

    assert picture(home) == before


@pytest.mark.parametrize("edited", [False, True])
def test_hooks_and_server_in_one_file_are_taken_back_together(home: Path, edited: bool) -> None:
    settings = home / ".qwen/settings.json"
    settings.parent.mkdir()
    write(settings, '{"theme": "dark"}', 0o644)
    before = picture(home)

    assert setup("--yes").code == 0
    written = json.loads(settings.read_text())
    if edited:
        settings.write_text(json.dumps(written | {"theme": "light"}))
    setup("--remove", "--yes")

    assert "memd" in written["mcpServers"]
    assert "hooks" in written
    if edited:
        assert json.loads(settings.read_text()) == {"theme": "light"}
    else:
        assert picture(home) == before


def test_an_undone_edit_counts_as_unchanged(home: Path) -> None:
    before = picture(home)
    setup("--yes")
    claude = home / ".claude.json"
    text = claude.read_text()
    claude.write_text(text.replace('"numStartups":3', '"numStartups":4'))
    setup("--yes")
    claude.write_text(claude.read_text().replace('"numStartups":4', '"numStartups":3'))

    setup("--remove", "--yes")

    assert picture(home) == before


def test_an_edited_skill_file_is_left_and_named(home: Path) -> None:
    setup("--yes")
    (home / SKILL).write_text("mine\n")

    again, removed = setup("--yes"), setup("--remove", "--yes")

    assert "is not the file that memd wrote" in again.out
    assert (home / SKILL).read_text() == "mine\n"
    assert f"~/{SKILL}  left, because its text has changed since" in removed.out


def test_what_an_update_removed_is_repaired(home: Path) -> None:
    setup("--yes")
    hooks = home / ".codex/hooks.json"
    values = json.loads(hooks.read_text())
    del values["hooks"]["SessionStart"]
    hooks.write_text(json.dumps(values))
    claude = home / ".claude.json"
    claude.write_text(CLAUDE_JSON)

    ran = setup("--yes")
    repaired = json.loads(hooks.read_text())
    setup("--remove", "--yes")

    assert "SessionStart" in repaired["hooks"]
    assert "~/.codex/hooks.json" in ran.out.split("changed files\n")[1]
    assert "~/.claude.json" in ran.out.split("changed files\n")[1]
    assert claude.read_text() == CLAUDE_JSON
    assert "memd" not in (hooks.read_text() if hooks.exists() else "")


def test_foreign_entries_and_unreadable_settings_are_left_while_others_go_on(home: Path) -> None:
    foreign = '{"mcpServers": {"memd": {"command": "other-memd", "args": []}}}'
    write(home / ".claude.json", foreign, 0o600)
    write(home / ".gemini/settings.json", "{broken", 0o600)

    ran = setup("--yes")

    assert ran.code == 1
    assert "has another server named memd" in ran.out
    assert "not done: gemini, mcp: cannot edit" in ran.err
    assert (home / ".claude.json").read_text() == foreign
    assert (home / ".gemini/settings.json").read_text() == "{broken"
    assert "memd" in (home / ".codex/config.toml").read_text()


def test_a_folder_that_cannot_be_read_stops_no_other_program(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memd.programs.catalog import MCP_CLIENTS, Mcp

    file_of = Mcp.file

    def refused(client: Mcp, places: Any) -> Path:
        if client is MCP_CLIENTS["gemini"]:
            raise PermissionError(13, "Permission denied")
        return file_of(client, places)

    monkeypatch.setattr(Mcp, "file", refused)

    ran = setup("--yes")

    assert ran.code == 1
    assert "not done: gemini, mcp: [Errno 13] Permission denied" in ran.err
    assert "memd" in (home / ".codex/config.toml").read_text()


def test_openclaw_is_offered_and_not_changed(home: Path) -> None:
    write_openclaw = home / ".openclaw" / "openclaw.json"
    write_openclaw.parent.mkdir()
    write_openclaw.write_text("{}")

    ran = setup("--yes")

    assert 'openclaw plugins install "$PWD" --force --accept-capabilities' in ran.out
    assert [path.name for path in write_openclaw.parent.iterdir()] == ["openclaw.json"]


def test_hooks_that_were_there_before_stay(home: Path) -> None:
    memctl("hooks", "install", "codex")
    before = picture(home)

    setup("--yes")
    setup("--remove", "--yes")

    assert picture(home) == before


def test_a_new_program_is_added_by_the_next_run(home: Path) -> None:
    before = picture(home)
    setup("--yes", "--only", "claude-code")
    setup("--yes", "--only", "codex")
    setup("--remove", "--yes")

    assert picture(home) == before


def test_a_broken_ledger_stops_everything(home: Path) -> None:
    before = picture(home)
    ledger_file().parent.mkdir(parents=True)
    ledger_file().write_text("{")

    for arguments in (("--yes",), ("--remove", "--yes")):
        ran = setup(*arguments)
        assert ran.code == 1
        assert "move the file away" in ran.err
    assert picture(home) == before


def test_json_has_the_plan_without_texts_of_settings(home: Path) -> None:
    write(home / ".claude.json", '{"key": "sk-secret"}', 0o600)

    ran = setup("--json", "--yes")

    reply = json.loads(ran.out)
    assert "sk-secret" not in ran.out
    assert [each["name"] for each in reply["programs"]] == ["claude-code", "codex", "gemini"]
    assert reply["faults"] == []
    assert [str(home / ".claude.json")] == [
        path for path, _ in reply["changed"] if path.endswith(".claude.json")
    ]
