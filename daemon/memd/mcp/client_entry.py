"""Add memd's entry to an MCP client's settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memd.mcp import toml_edit
from memd.programs.catalog import MCP_SERVER, Mcp
from memd.system import json_edit
from memd.system.json_edit import UneditableTextError
from memd.system.settings_change import SettingsChange, read_settings, uneditable

HINT = "add the entry yourself; see docs/mcp-clients.md"


def plan(client: Mcp, path: Path, entry: dict[str, Any] | None) -> SettingsChange:
    """Return the change to add the entry to a client's settings, or to remove it for None.

    Keys that the user added to the present entry are kept.
    """
    before = read_settings(path)
    text = before or ""
    try:
        after = edit(client, path, text, entry)
    except UneditableTextError as error:
        raise uneditable(path, error, HINT) from None
    return SettingsChange(path, before, after, HINT)


def edit(client: Mcp, path: Path, text: str, entry: dict[str, Any] | None) -> str:
    """Return the text of settings with the entry, or without it for None; may raise `UneditableTextError`."""
    return (_toml if path.suffix == ".toml" else _json)(text, client.section, entry)


def _toml(text: str, section: str, entry: dict[str, Any] | None) -> str:
    if entry is None:
        return toml_edit.remove(text, section, MCP_SERVER)
    servers = toml_edit.value_of(text).get(section)
    present = servers.get(MCP_SERVER) if isinstance(servers, dict) else None
    return toml_edit.put(
        text, section, MCP_SERVER, {**(present if isinstance(present, dict) else {}), **entry}
    )


def _json(text: str, section: str, entry: dict[str, Any] | None) -> str:
    if entry is None:
        return json_edit.take_out(text, (section, MCP_SERVER))
    return json_edit.put(text, (section, MCP_SERVER), entry, merge=True)
