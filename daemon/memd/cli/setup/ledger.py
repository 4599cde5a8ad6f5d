"""What setup changed, so that it can be taken back: a small file in memd's state folder."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Collection
from pathlib import Path

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from memd.cli.hook_setup.entries import without_hooks
from memd.mcp import client_entry, toml_edit
from memd.programs.catalog import HOOKS, MCP_CLIENTS
from memd.system import json_edit
from memd.system.json_edit import UneditableTextError
from memd.system.settings_change import SettingsChange, carry_out, read_settings
from memd.system.state_file import load_whole, replace_whole
from memd_client.discovery import state_folder
from memd_client.errors import ConfigInvalidError

MAX_BYTES = 4 * 1024 * 1024

HINT = "remove memd's entries yourself; see docs/getting-started.md"


def digest(text: str | None) -> str:
    """Return the hash of a file's text; empty for a missing file."""
    return "" if text is None else hashlib.sha256(text.encode()).hexdigest()


class ChangedFile(Struct):
    """A file that setup changed.

    Attributes:
        kinds: What setup wrote into it: `sources`, `hooks`, `mcp`, `skill`.
        program: The program whose file it is.
        before: Hash of its text before setup; empty if it was missing; None: unknown, as it had entries of memd.
        after: Hash of its text after setup.
        backups: Copies of its earlier text.
    """

    kinds: list[str]
    program: str
    before: str | None
    after: str
    backups: list[str] = field(default_factory=list)


class TakenBack(Struct):
    """What became of a file, and the copies of its earlier text that are left."""

    path: str
    state: str
    backups: list[str]


class Ledger(Struct):
    """The files that setup changed by path, the folders that it made, and the sources that it added."""

    files: dict[str, ChangedFile] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)

    def carry_out(self, change: SettingsChange, kind: str, program: str, stamp: str) -> str:
        """Record a change and make it; return the backup of the file's earlier text, empty if there is none."""
        path, before = os.path.realpath(change.path), digest(change.before)
        entry = self.files.get(path) or ChangedFile([kind], program, before, before)
        is_known = path in self.files and before in (entry.before, entry.after)
        if not is_known:
            is_clean = self._without_own(path, entry, change.before) == change.before
            entry = replace(entry, before=before if is_clean else None)
        missing = [str(folder) for folder in Path(path).parents if not folder.exists()]
        self.folders += [folder for folder in missing if folder not in self.folders]
        self.files[path] = entry = replace(
            entry, after=digest(change.after), kinds=list(dict.fromkeys([*entry.kinds, kind]))
        )
        self.save()
        is_own = kind == "skill" or (kind == "hooks" and HOOKS[program].is_own_file)
        backup = carry_out(replace(change, has_backup=not is_known and not is_own), stamp)
        if backup is not None:
            entry.backups.append(str(backup))
            self.save()
        return entry.backups[-1] if entry.backups else ""

    def take_back(self, path: str) -> TakenBack:
        """Restore a file that nothing else has changed; remove memd's entries from another one."""
        entry, text = self.files[path], read_settings(Path(path))
        copies = [read_settings(Path(backup)) for backup in entry.backups]
        original = next((copy for copy in copies if digest(copy) == entry.before), None)
        after = text
        if digest(text) == entry.after and (original is not None or entry.before == ""):
            after = original
        elif digest(text) != entry.before:
            try:
                after = self._without_own(path, entry, text, original)
            except UneditableTextError as error:
                raise ConfigInvalidError(f"cannot edit {path}: {error}", hint=HINT) from None
        if after != text:
            carry_out(SettingsChange(Path(path), text, after, HINT, has_backup=False), "")
        state = "changed by something else since, so only memd's entries were removed"
        if digest(after) == entry.before:
            state = "as it was before, byte for byte" if after is not None else "deleted"
            for backup in entry.backups:
                Path(backup).unlink(missing_ok=True)
        elif after is None:
            state = "deleted"
        elif "skill" in entry.kinds:
            state = "left, because its text has changed since; delete it yourself"
        del self.files[path]
        self.save()
        return TakenBack(path, state, [backup for backup in entry.backups if os.path.exists(backup)])

    def remove_folders(self) -> None:
        """Remove the empty folders that setup made, and forget the others."""
        for folder in sorted(self.folders, key=len, reverse=True):
            with contextlib.suppress(OSError):  # something else is in it
                os.rmdir(folder)
        self.folders = []
        self.save()

    def save(self) -> None:
        """Write the file, or delete it if nothing is recorded."""
        if self == Ledger():
            ledger_file().unlink(missing_ok=True)
        else:
            replace_whole(ledger_file(), msgspec.json.format(msgspec.json.encode(self), indent=1))

    def _without_own(
        self, path: str, entry: ChangedFile, text: str | None, original: str | None = None
    ) -> str | None:
        """Return a text without memd's entries; None for a missing file, or one that setup made for them alone."""
        hooks, client = HOOKS.get(entry.program), MCP_CLIENTS.get(entry.program)
        is_new = path in self.files and entry.before == ""
        if text is None or "skill" in entry.kinds:
            return text
        after, ignored = text, set[str]()
        if "sources" in entry.kinds:
            for name in self.sources:
                after = toml_edit.remove(after, "sources", name)
        if "hooks" in entry.kinds and hooks is not None:
            if hooks.manifest.endswith(f"/{Path(path).name}"):
                return None if is_new else text
            after, ignored = without_hooks(hooks, after), {*hooks.top}
        if "mcp" in entry.kinds and client is not None:
            after = client_entry.edit(client, Path(path), after, None)
            if not path.endswith(".toml") and (is_new or original is not None):
                had_section = client.section in json_edit.value_of(original or "")
                if not had_section and json_edit.value_of(after).get(client.section) == {}:
                    after = json_edit.take_out(after, (client.section,))
        return None if is_new and _is_blank(after, ignored) else after


def _is_blank(text: str, ignored: Collection[str]) -> bool:
    """Return whether a text has neither comments nor values, except ignored keys."""
    try:
        values = json.loads(text)
    except ValueError:
        return not text.strip()
    return isinstance(values, dict) and not any(values[key] for key in values if key not in ignored)


def ledger_file() -> Path:
    """Return the path of the ledger."""
    return Path(state_folder(os.environ), "memory", "memd-setup.json")


def load_ledger() -> Ledger:
    """Return what earlier setups changed."""
    path = ledger_file()
    try:
        return msgspec.json.decode(load_whole(path, MAX_BYTES), type=Ledger)
    except FileNotFoundError:
        return Ledger()
    except (OSError, ValueError) as error:
        hint = "move the file away; memd then no longer knows what it changed"
        raise ConfigInvalidError(f"cannot read {path}: {error}", hint=hint) from None
