"""Changes of a client's settings: preview, atomic writes and backups."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from memd.mcp.client_entry import plan
from memd.programs.catalog import MCP_CLIENTS, Places
from memd.system.settings_change import carry_out
from memd_client.errors import ConfigInvalidError

CURSOR = MCP_CLIENTS["cursor"]
ENTRY = CURSOR.entry("memctl", None, {})


@pytest.mark.parametrize(
    ("name", "platform", "place"),
    [
        ("claude-code", "linux", ".claude.json"),
        ("codex", "linux", ".codex/config.toml"),
        ("cursor", "linux", ".cursor/mcp.json"),
        ("vscode", "linux", ".config/Code/User/mcp.json"),
        ("vscode", "darwin", "Library/Application Support/Code/User/mcp.json"),
        ("claude-desktop", "linux", ".config/Claude/claude_desktop_config.json"),
        ("claude-desktop", "darwin", "Library/Application Support/Claude/claude_desktop_config.json"),
    ],
)
def test_each_client_has_its_settings_file(name: str, platform: str, place: str) -> None:
    home = Path("/home/ann")

    assert MCP_CLIENTS[name].file(Places(home, {}, platform)) == home / place


@pytest.mark.parametrize(
    ("name", "variable", "file"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", "/x/.claude.json"),
        ("codex", "CODEX_HOME", "/x/config.toml"),
        ("vscode", "XDG_CONFIG_HOME", "/x/Code/User/mcp.json"),
    ],
)
def test_variables_of_a_client_change_its_folder(name: str, variable: str, file: str) -> None:
    places = Places(Path("/home/ann"), {variable: "/x"}, "linux")
    assert MCP_CLIENTS[name].file(places) == Path(file)


def test_keys_added_by_the_user_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    held = {"mcpServers": {"memd": {"command": "old", "disabled": True, "env": {"A": "1"}}}}
    file.write_text(json.dumps(held))

    change = plan(CURSOR, file, ENTRY)

    entry = json.loads(change.after or "")["mcpServers"]["memd"]
    assert entry == {"command": "memctl", "disabled": True, "env": {"A": "1"}, "args": ["mcp"]}


def test_change_keeps_mode_link_and_every_backup(tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles" / "mcp.json"
    kept.parent.mkdir()
    kept.write_text('{"a": 1}\n')
    kept.chmod(0o640)
    link = tmp_path / "mcp.json"
    link.symlink_to(kept)

    first = carry_out(plan(CURSOR, link, ENTRY), "now")
    second = carry_out(plan(CURSOR, link, None), "now")

    assert link.is_symlink()
    assert kept.stat().st_mode & 0o777 == 0o640
    assert first is not None
    assert second is not None
    assert first.read_text() == '{"a": 1}\n'
    assert "memd" in second.read_text()
    assert sorted(os.listdir(kept.parent)) == ["mcp.json", "mcp.json.now-2.bak", "mcp.json.now.bak"]


def test_new_file_is_private(tmp_path: Path) -> None:
    file = tmp_path / "new" / "mcp.json"

    assert carry_out(plan(CURSOR, file, ENTRY), "now") is None

    assert file.stat().st_mode & 0o777 == 0o600


def test_file_changed_in_the_meantime_is_unchanged(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text("{}")
    change = plan(CURSOR, file, ENTRY)
    file.write_text('{"b": 2}')

    with pytest.raises(ConfigInvalidError, match="changed in the meantime"):
        carry_out(change, "now")

    assert os.listdir(tmp_path) == ["mcp.json"]


@pytest.mark.parametrize("text", [b'{"a": ', b"\xff\xfe", b'{"mcpServers": 3}'])
def test_unreadable_file_is_an_error_with_its_path(tmp_path: Path, text: bytes) -> None:
    file = tmp_path / "mcp.json"
    file.write_bytes(text)

    with pytest.raises(ConfigInvalidError, match=r"mcp\.json") as refused:
        plan(CURSOR, file, ENTRY)

    assert "correct the file" in refused.value.hint


def test_unwritable_file_is_unchanged(tmp_path: Path) -> None:
    (tmp_path / "in the way").write_text("a file, not a folder")
    file = tmp_path / "in the way" / "mcp.json"

    with pytest.raises(ConfigInvalidError, match="in the way"):
        carry_out(plan(CURSOR, file, ENTRY), "now")
