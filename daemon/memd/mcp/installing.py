"""An entry for memd in an MCP client's settings: what would change, and the change itself with a backup."""

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
"""Settings of this kind hold keys of other servers; the file may come to do so as well."""

MOST_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Change:
    """A file before and after; `before` is None where there is none yet."""

    path: Path
    before: str | None
    after: str

    @property
    def is_none(self) -> bool:
        """Whether nothing has to be done."""
        return (self.before or "") == self.after

    def diff(self) -> str:
        """Return the change as a unified diff."""
        before = [] if self.before is None else self.before.splitlines(keepends=True)
        lines = difflib.unified_diff(
            before, self.after.splitlines(keepends=True), f"{self.path}", f"{self.path} (new)"
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def plan(client: McpClient, path: Path, entry: dict[str, Any] | None) -> Change:
    """Return what has to change in a client's settings."""
    before = _read(path)
    text = before or ""
    try:
        edit = _toml if path.suffix == ".toml" else _json
        after = edit(text, client.section, entry)
    except UneditableTextError as error:
        raise ConfigInvalidError(
            f"{path} can't be edited: {error}",
            hint="Nothing was changed. Mend the file, or put the entry in by hand: docs/mcp-clients.md has it.",
            data={"path": str(path)},
        ) from None
    return Change(path, before, after)


def carry_out(change: Change, stamp: str) -> Path | None:
    """Write a change, whole or not at all, and return the backup of what was there; None where nothing was."""
    path = Path(os.path.realpath(change.path))  # a link to where settings are kept stays one
    if _read(path) != change.before:
        raise ConfigInvalidError(f"{path} was changed meanwhile", hint="Run the command again.")
    backup = None if change.before is None else _free(path, stamp)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = NEW_FILE_MODE if change.before is None else path.stat().st_mode & 0o777
        if backup is not None:
            replace_synced(backup, (change.before or "").encode(), mode)
        replace_synced(path, change.after.encode(), mode)
    except OSError as error:
        raise ConfigInvalidError(
            f"{path} can't be written: {error.strerror or error}",
            hint="The file is as it was. Mend its permissions, or put the entry in by hand: docs/mcp-clients.md.",
        ) from None
    return backup


def _free(path: Path, stamp: str) -> Path:
    """Return a name for a backup that no other has."""
    backup, count = path.with_name(f"{path.name}.{stamp}.bak"), 1
    while backup.exists():
        count += 1
        backup = path.with_name(f"{path.name}.{stamp}-{count}.bak")
    return backup


def _toml(text: str, section: str, entry: dict[str, Any] | None) -> str:
    if entry is None:
        return toml_edit.take_out(text, section, SERVER)
    return toml_edit.put(text, section, SERVER, _merged(toml_edit.value_of(text), section, entry))


def _json(text: str, section: str, entry: dict[str, Any] | None) -> str:
    if entry is None:
        return json_edit.take_out(text, (section, SERVER))
    return json_edit.put(text, (section, SERVER), _merged(json_edit.value_of(text), section, entry))


def _merged(held: Any, section: str, entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry with what the user added to the one that is there."""
    servers = held.get(section) if isinstance(held, dict) else None
    present = servers.get(SERVER) if isinstance(servers, dict) else None
    return {**(present if isinstance(present, dict) else {}), **entry}


def _read(path: Path) -> str | None:
    """Return a file's text with its line ends; None where there is no file."""
    try:
        return load_whole(path, MOST_BYTES).decode()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8, or too big"
        raise ConfigInvalidError(f"{path} can't be read: {reason}", hint="Nothing was changed.") from None
