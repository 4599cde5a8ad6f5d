"""A change of another program's settings file: shown as a diff, or made atomically with a backup."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from msgspec import Struct

from memd.system.json_edit import UneditableTextError
from memd.system.state_file import load_whole, replace_synced
from memd_client.errors import ConfigInvalidError

NEW_FILE_MODE = 0o600
"""Such settings may contain keys of other servers."""

MAX_SETTINGS_BYTES = 64 * 1024 * 1024


class SettingsChange(Struct, frozen=True):
    """A file's text before and after.

    Attributes:
        path: The file.
        before: Its text; None if the file doesn't exist.
        after: Its new text; None deletes the file.
        alternative: What the user can do instead, if the file can't be written.
        has_backup: Whether the earlier text is kept next to the file.
    """

    path: Path
    before: str | None
    after: str | None
    alternative: str
    has_backup: bool = True

    @property
    def is_none(self) -> bool:
        """Whether nothing changes."""
        return self.before == self.after or (self.before is None and not self.after)

    def diff(self) -> str:
        """Return the change as a unified diff."""
        lines = difflib.unified_diff(
            (self.before or "").splitlines(keepends=True),
            (self.after or "").splitlines(keepends=True),
            f"{self.path}",
            f"{self.path} ({'new' if self.after is not None else 'deleted'})",
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def carry_out(change: SettingsChange, stamp: str) -> Path | None:
    """Make a change atomically, and return the backup; None if there is none."""
    path = Path(os.path.realpath(change.path))  # a link to the settings is kept
    if read_settings(path) != change.before:
        raise ConfigInvalidError(f"{path} has changed in the meantime", hint="run the command again")
    backup = None if change.before is None or not change.has_backup else _free(path, stamp)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = NEW_FILE_MODE if change.before is None else path.stat().st_mode & 0o777
        if backup is not None:
            replace_synced(backup, (change.before or "").encode(), mode)
        if change.after is None:
            path.unlink(missing_ok=True)
        else:
            replace_synced(path, change.after.encode(), mode)
    except OSError as error:
        raise ConfigInvalidError(
            f"cannot write {path}: {error.strerror or error}",
            hint=f"correct the permissions, or {change.alternative}",
        ) from None
    return backup


def backups_of(path: Path) -> list[Path]:
    """Return the backups of a file, the newest first."""
    path = Path(os.path.realpath(path))
    found = [each for each in path.parent.glob("*.bak") if each.name.startswith(f"{path.name}.")]
    return sorted(found, key=lambda each: (each.stat().st_mtime_ns, each.name), reverse=True)


def uneditable(path: Path, error: UneditableTextError, alternative: str) -> ConfigInvalidError:
    """Return the error for a file that can't be edited."""
    return ConfigInvalidError(
        f"cannot edit {path}: {error}",
        hint=f"correct the file, or {alternative}",
        data={"path": str(path)},
    )


def read_settings(path: Path) -> str | None:
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


def _free(path: Path, stamp: str) -> Path:
    """Return an unused name for a backup."""
    backup, count = path.with_name(f"{path.name}.{stamp}.bak"), 1
    while backup.exists():
        count += 1
        backup = path.with_name(f"{path.name}.{stamp}-{count}.bak")
    return backup
