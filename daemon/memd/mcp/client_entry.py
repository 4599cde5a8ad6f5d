"""Add memd's entry to an MCP client's settings: the plan, and the change with a backup."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memd.mcp import toml_edit
from memd.mcp.client_files import SERVER, McpClient
from memd.system import json_edit
from memd.system.json_edit import UneditableTextError
from memd.system.state_file import load_whole, replace_synced
from memd_client.errors import ConfigInvalidError

NEW_FILE_MODE = 0o600
"""Such settings may contain keys of other servers."""

MAX_SETTINGS_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Change:
    """A file's text before and after; `before` is None if the file doesn't exist."""

    path: Path
    before: str | None
    after: str

    @property
    def is_none(self) -> bool:
        """Whether nothing changes."""
        return (self.before or "") == self.after

    def diff(self) -> str:
        """Return the change as a unified diff."""
        before = [] if self.before is None else self.before.splitlines(keepends=True)
        lines = difflib.unified_diff(
            before, self.after.splitlines(keepends=True), f"{self.path}", f"{self.path} (new)"
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def plan(client: McpClient, path: Path, entry: dict[str, Any] | None) -> Change:
    """Return the change to add the entry to a client's settings, or to remove it for None."""
    before = _read(path)
    text = before or ""
    try:
        edit = _toml if path.suffix == ".toml" else _json
        after = edit(text, client.section, entry)
    except UneditableTextError as error:
        raise ConfigInvalidError(
            f"cannot edit {path}: {error}",
            hint="correct the file, or add the entry yourself; see docs/mcp-clients.md",
            data={"path": str(path)},
        ) from None
    return Change(path, before, after)


def carry_out(change: Change, stamp: str) -> Path | None:
    """Write a change atomically, and return the backup; None if there was no file."""
    path = Path(os.path.realpath(change.path))  # a link to the settings is kept
    if _read(path) != change.before:
        raise ConfigInvalidError(f"{path} has changed in the meantime", hint="run the command again")
    backup = None if change.before is None else _free(path, stamp)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = NEW_FILE_MODE if change.before is None else path.stat().st_mode & 0o777
        if backup is not None:
            replace_synced(backup, (change.before or "").encode(), mode)
        replace_synced(path, change.after.encode(), mode)
    except OSError as error:
        raise ConfigInvalidError(
            f"cannot write {path}: {error.strerror or error}",
            hint="correct the permissions, or add the entry yourself; see docs/mcp-clients.md",
        ) from None
    return backup


def _free(path: Path, stamp: str) -> Path:
    """Return an unused name for a backup."""
    backup, count = path.with_name(f"{path.name}.{stamp}.bak"), 1
    while backup.exists():
        count += 1
        backup = path.with_name(f"{path.name}.{stamp}-{count}.bak")
    return backup


def _toml(text: str, section: str, entry: dict[str, Any] | None) -> str:
    if entry is None:
        return toml_edit.remove(text, section, SERVER)
    return toml_edit.put(text, section, SERVER, _merged(toml_edit.value_of(text), section, entry))


def _json(text: str, section: str, entry: dict[str, Any] | None) -> str:
    if entry is None:
        return json_edit.take_out(text, (section, SERVER))
    return json_edit.put(text, (section, SERVER), _merged(json_edit.value_of(text), section, entry))


def _merged(settings: Any, section: str, entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry merged with the keys that the user added to the present one."""
    servers = settings.get(section) if isinstance(settings, dict) else None
    present = servers.get(SERVER) if isinstance(servers, dict) else None
    return {**(present if isinstance(present, dict) else {}), **entry}


def _read(path: Path) -> str | None:
    """Return a file's text with its line ends; None if it doesn't exist."""
    try:
        return load_whole(path, MAX_SETTINGS_BYTES).decode()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8, or too large"
        raise ConfigInvalidError(
            f"cannot read {path}: {reason}", hint="correct the file; nothing was changed"
        ) from None
