"""`memctl mcp`: the entry in a client's settings, and a server that fails to start."""

from __future__ import annotations

import io
import json
import sys
import tomllib
from pathlib import Path

import pytest

from memd.mcp import server
from memd.programs.catalog import MCP_CLIENTS, PROGRAMS, Places
from tests.unit.cli.memctl_runner import memctl

VARIABLES = (
    "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "COPILOT_HOME",
    "MEMD_SOCKET", "MEMD_CONFIG", "OPENCLAW_STATE_DIR"
)  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder, without variables that change paths."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def said(file: Path) -> dict[str, object]:
    """Return the values of a settings file."""
    text = file.read_text()
    read: dict[str, object] = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    return read


@pytest.mark.parametrize("name", MCP_CLIENTS)
def test_entry_is_written_kept_and_removed(home: Path, name: str) -> None:
    client, title = MCP_CLIENTS[name], PROGRAMS[name].title
    file = client.file(Places(home, {}))

    first = memctl("mcp", "install", name, "--agent", "work")
    written = file.read_text()
    again = memctl("mcp", "install", name, "--agent", "work")
    entry = said(file)[client.section]
    removed = memctl("mcp", "install", name, "--remove")

    assert (first.code, again.code, removed.code) == (0, 0, 0)
    assert first.out == f"added memd to {title}: {file}\n"
    assert client.next_step in first.err
    assert again.out == f"{title} is configured already: {file}\n"
    assert isinstance(entry, dict)
    program, *arguments = client.command_of(entry["memd"])
    assert arguments == ["mcp", "--agent", "work"]
    assert Path(program).name == "memctl"
    assert said(file).get(client.section, {}) == {}
    [backup] = file.parent.glob("*.bak")
    assert backup.read_text() == written
    assert str(backup) in removed.err


def test_dry_run_shows_the_change_without_making_it(home: Path) -> None:
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text('{\n  "mcpServers": {}\n}\n')

    ran = memctl("mcp", "install", "cursor", "--dry-run")

    assert ran.code == 0
    assert '+    "memd": {\n' in ran.out
    assert [each.name for each in file.parent.iterdir()] == ["mcp.json"]
    assert file.read_text() == '{\n  "mcpServers": {}\n}\n'


def test_project_entry_has_no_paths_of_this_machine(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    project = home / "project"
    project.mkdir()

    ran = memctl("mcp", "install", "vscode", "--project", str(project))

    assert ran.code == 0
    entry = {"type": "stdio", "command": "memctl", "args": ["mcp"]}
    assert said(project / ".vscode" / "mcp.json") == {"servers": {"memd": entry}}


def test_environment_variables_are_written_into_the_entry(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMD_SOCKET", "/run/own.sock")

    memctl("mcp", "install", "codex")

    assert tomllib.loads((home / ".codex" / "config.toml").read_text())["mcp_servers"]["memd"]["env"] == {
        "MEMD_SOCKET": "/run/own.sock"
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["install", "claude-desktop", "--project", "."], "has no project settings"),
        (["install", "cursor", "--project", "/no/such"], "no folder /no/such"),
        (["--agent", "a", "install", "cursor"], "--agent must follow `install`"),
        (["--structured", "install", "cursor"], "--structured cannot be combined with `install`"),
        (["install", "emacs"], "'emacs' is not one of"),
    ],
)
def test_invalid_combinations_are_usage_errors(home: Path, arguments: list[str], message: str) -> None:
    ran = memctl("mcp", *arguments)

    assert ran.code == 2
    assert message in ran.err


def test_broken_file_is_reported_and_unchanged(home: Path) -> None:
    file = home / ".claude.json"
    file.write_text('{"mcpServers": ')

    ran = memctl("mcp", "install", "claude-code")

    assert ran.code == 1
    assert f"cannot edit {file}: line 1, column 16 is not valid JSON" in ran.err
    assert "config_invalid" in ran.err
    assert file.read_text() == '{"mcpServers": '


class Stdin(io.StringIO):
    """Standard input that is or is not a terminal."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


@pytest.mark.parametrize("arguments", [["mcp"], ["mcp", "--agent", "work"]])
def test_terminal_gets_the_help_instead_of_the_server(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[str | None] = []
    monkeypatch.setattr(server, "serve", lambda agent, **options: served.append(agent))

    monkeypatch.setattr("sys.stdin", Stdin(is_terminal=True))
    on_terminal = memctl(*arguments)
    monkeypatch.setattr("sys.stdin", Stdin(is_terminal=False))
    on_pipe = memctl(*arguments)

    assert (on_terminal.code, on_pipe.code) == (0, 0)
    assert on_terminal.out.startswith("Usage: memctl mcp ")
    assert on_pipe.out == ""
    assert served == [None if len(arguments) == 1 else "work"]


def test_client_is_configured_only_if_the_server_starts(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bin_folder = home / "bin"
    bin_folder.mkdir()
    monkeypatch.setenv("PATH", f"{bin_folder}:/usr/bin:/bin")
    monkeypatch.setattr("memd.cli.mcp._program", lambda: "memctl")
    program = bin_folder / "memctl"
    cases = {
        "no program memctl is on PATH": None,
        "the server failed: memctl: cannot load it": "echo 'memctl: cannot load it' >&2; exit 1",
        "the server failed: no reply": "true",
        "memctl is another server, 'other'": """echo '{"result":{"serverInfo":{"name":"other"}}}'""",
    }
    for message, script in cases.items():
        if script is not None:
            program.write_text(f"#!/bin/sh\n{script}\n")
            program.chmod(0o755)

        ran = memctl("mcp", "install", "gemini")

        assert ran.code == 1
        assert message in ran.err
        assert f"{home / '.gemini' / 'settings.json'} is unchanged" in ran.err
        assert "hint: " in ran.err
        assert not (home / ".gemini").exists()

    program.write_text(f'#!/bin/sh\nexec {Path(sys.executable).with_name("memctl")} "$@"\n')
    assert memctl("mcp", "install", "gemini").code == 0
    program.unlink()
    again = memctl("mcp", "install", "gemini")
    assert again.code == 1, "an entry that no longer works is not reported as configured"


def test_opencode_settings_with_comments_are_edited_in_their_file(home: Path) -> None:
    file = home / ".config" / "opencode" / "opencode.jsonc"
    file.parent.mkdir(parents=True)
    file.write_text('{\n  // mine\n  "theme": "dark"\n}\n')

    ran = memctl("mcp", "install", "opencode")

    assert ran.code == 0
    written = file.read_text()
    assert "// mine" in written
    assert '"command": ["' in written or '"command": [\n' in written
    assert [each.suffix for each in file.parent.iterdir() if "bak" not in each.name] == [".jsonc"]
