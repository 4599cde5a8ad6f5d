"""The catalog of programs: the settings files of hooks and of MCP servers, and what is written to them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from memd.programs.catalog import HOOKS, MCP_CLIENTS, Places
from memd_client.hooks import EVENTS
from memd_client.tool_events import ACTION_EVENTS

HOME = Path("/home/ann")
Environ = Mapping[str, str]


@pytest.mark.parametrize(
    ("program", "environ", "file"),
    [
        ("claude-code", {}, "/home/ann/.claude/settings.json"),
        ("claude-code", {"CLAUDE_CONFIG_DIR": "/x"}, "/x/settings.json"),
        ("codex", {}, "/home/ann/.codex/hooks.json"),
        ("codex", {"CODEX_HOME": "/x"}, "/x/hooks.json"),
        ("gemini", {}, "/home/ann/.gemini/extensions/memd/hooks/hooks.json"),
        ("gemini", {"GEMINI_CLI_HOME": "/x"}, "/x/.gemini/extensions/memd/hooks/hooks.json"),
        ("cursor", {}, "/home/ann/.cursor/hooks.json"),
        ("copilot", {}, "/home/ann/.copilot/hooks/memd.json"),
        ("copilot", {"COPILOT_HOME": "/x"}, "/x/hooks/memd.json"),
    ],
)
@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_each_program_has_its_file_of_hooks(program: str, environ: Environ, platform: str, file: str) -> None:
    assert Places(HOME, environ, platform).path(HOOKS[program].file) == Path(file)


def test_gemini_has_hooks_in_an_extension() -> None:
    manifests = {name: hooks.manifest for name, hooks in HOOKS.items() if hooks.manifest}
    assert set(manifests) == {"gemini"}
    extension = HOME / ".gemini/extensions/memd"
    assert Places(HOME, {}, "linux").path(manifests["gemini"]) == extension / "gemini-extension.json"
    moved = Places(HOME, {"GEMINI_CLI_HOME": "/x"}, "linux").path(manifests["gemini"])
    assert moved == Path("/x/.gemini/extensions/memd/gemini-extension.json")


@pytest.mark.parametrize("program", HOOKS)
def test_hooks_have_events_and_a_command(program: str) -> None:
    hooks = HOOKS[program]
    assert hooks.events.keys() <= {*EVENTS}
    assert {*hooks.matchers} == {hooks.events[name] for name in hooks.events.keys() & {*ACTION_EVENTS}}
    assert len(set(hooks.events.values())) == len(hooks.events)
    assert hooks.next_step
    for name in hooks.events.values():
        hook, matcher = hooks.hook(name, "memctl hook"), {"matcher": hooks.matchers.get(name)}
        matcher = matcher if name in hooks.matchers else {}
        assert hook[hooks.command_key] == "memctl hook"
        assert hooks.item(name, hook) == ({**matcher, "hooks": [hook]} if hooks.is_grouped else hook)
        assert hooks.is_grouped or matcher.items() <= hook.items()
    assert any("timeout" in key for key in map(str.lower, hook))


@pytest.mark.parametrize(
    ("program", "platform", "environ", "file"),
    [
        ("claude-code", "linux", {}, "/home/ann/.claude.json"),
        ("claude-code", "linux", {"CLAUDE_CONFIG_DIR": "/x"}, "/x/.claude.json"),
        ("codex", "linux", {}, "/home/ann/.codex/config.toml"),
        ("codex", "linux", {"CODEX_HOME": "/x"}, "/x/config.toml"),
        ("gemini", "linux", {}, "/home/ann/.gemini/settings.json"),
        ("gemini", "darwin", {"GEMINI_CLI_HOME": "/x"}, "/x/.gemini/settings.json"),
        ("opencode", "linux", {}, "/home/ann/.config/opencode/opencode.json"),
        ("opencode", "darwin", {}, "/home/ann/.config/opencode/opencode.json"),
        ("opencode", "linux", {"XDG_CONFIG_HOME": "/x"}, "/x/opencode/opencode.json"),
        ("kilo", "linux", {}, "/home/ann/.config/kilo/kilo.json"),
        ("crush", "linux", {}, "/home/ann/.config/crush/crush.json"),
        ("crush", "darwin", {"CRUSH_GLOBAL_CONFIG": "/x"}, "/x/crush.json"),
        ("zed", "darwin", {}, "/home/ann/.config/zed/settings.json"),
        ("copilot", "linux", {}, "/home/ann/.copilot/mcp-config.json"),
        ("copilot", "linux", {"COPILOT_HOME": "/x"}, "/x/mcp-config.json"),
        ("cursor", "linux", {}, "/home/ann/.cursor/mcp.json"),
        ("vscode", "linux", {}, "/home/ann/.config/Code/User/mcp.json"),
        ("vscode", "linux", {"XDG_CONFIG_HOME": "/x"}, "/x/Code/User/mcp.json"),
        ("vscode", "darwin", {}, "/home/ann/Library/Application Support/Code/User/mcp.json"),
        ("cline", "linux", {}, "/home/ann/.cline/data/settings/cline_mcp_settings.json"),
        ("cline", "linux", {"CLINE_DATA_DIR": "/x"}, "/x/settings/cline_mcp_settings.json"),
        ("cline", "linux", {"CLINE_DIR": "/x", "CLINE_MCP_SETTINGS_PATH": "/y/mcp.json"}, "/y/mcp.json"),
        (
            "cline-vscode",
            "linux",
            {},
            "/home/ann/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        ),
        (
            "roo-code",
            "linux",
            {"XDG_CONFIG_HOME": "/x"},
            "/x/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
        ),
        ("amp", "linux", {}, "/home/ann/.config/amp/settings.json"),
        ("claude-desktop", "linux", {}, "/home/ann/.config/Claude/claude_desktop_config.json"),
        (
            "claude-desktop",
            "darwin",
            {"XDG_CONFIG_HOME": "/x"},
            "/home/ann/Library/Application Support/Claude/claude_desktop_config.json",
        ),
    ],
)
def test_each_mcp_client_has_its_settings_file(
    program: str, platform: str, environ: Environ, file: str
) -> None:
    assert MCP_CLIENTS[program].file(Places(HOME, environ, platform)) == Path(file)


@pytest.mark.parametrize(
    ("existing", "expected"),
    [
        ([], "opencode.json"),
        (["opencode.json"], "opencode.json"),
        (["opencode.jsonc"], "opencode.jsonc"),
        (["opencode.json", "opencode.jsonc"], "opencode.json"),
    ],
)
def test_settings_with_comments_are_used_if_only_they_exist(
    tmp_path: Path, existing: list[str], expected: str
) -> None:
    folder = tmp_path / ".config/opencode"
    folder.mkdir(parents=True)
    for name in existing:
        (folder / name).touch()
    assert MCP_CLIENTS["opencode"].file(Places(tmp_path, {}, "linux")) == folder / expected


@pytest.mark.parametrize("program", MCP_CLIENTS)
def test_entry_of_an_mcp_client_has_its_command_and_variables(program: str) -> None:
    client = MCP_CLIENTS[program]
    entry = client.entry("/usr/bin/memctl", "work", {"A": "1"})
    assert client.command_of(entry) == ["/usr/bin/memctl", "mcp", "--agent", "work"]
    assert entry[client.variables_key] == {"A": "1"}
    assert entry.items() >= client.fields.items()
    plain = client.entry("memctl", None, {})
    assert client.command_of(plain) == ["memctl", "mcp"]
    assert client.variables_key not in plain
    assert client.section
    assert client.next_step
    assert not Path(client.project).is_absolute()
