"""The changes of files that install or uninstall memd's hooks, and the state of what is installed."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import memd_client.hook
from memd.cli.hook_setup.entries import original_of, with_hooks, without_hooks
from memd.programs.catalog import HOOKS, Hooks, Places
from memd.programs.connections import IF_INSTALLED, ProgramConnection, find_hooks, read_hooks
from memd.system.json_edit import UneditableTextError
from memd.system.settings_change import SettingsChange, backups_of, read_settings, uneditable
from memd_client import CLIENT_VERSION
from memd_client.discovery import state_folder
from memd_client.errors import ConfigInvalidError, MemdError
from memd_client.state_folder import names_state_dir

HINT = "add or remove the hooks yourself; see docs/cli.md"

MAX_BACKUPS = 20
"""Backups that uninstalling compares."""


def command_of(program: str, event: str, agent: str | None, environ: Mapping[str, str]) -> str:
    """Return the command of a hook.

    It doesn't run `memctl` or the environment's packages: `-S` skips them, which halves the start of Python. It names
    the socket and the state folder of the environment, because a program may be started without these variables.
    """
    hook = os.path.abspath(memd_client.hook.__file__)
    words = ["sh", "-c", IF_INSTALLED, sys.executable, "-I", "-S", hook, program, event]
    words += ["--agent", agent] if agent else []
    words += ["--socket", environ["MEMD_SOCKET"]] if environ.get("MEMD_SOCKET") else []
    words += ["--state-dir", state_folder(environ)] if names_state_dir(environ) else []
    return shlex.join(words)


@dataclass(frozen=True, slots=True)
class HookFiles:
    """The files of one program that hold memd's hooks."""

    program: str
    home: Path
    environ: Mapping[str, str]

    @property
    def form(self) -> Hooks:
        """The form of the program's hooks."""
        return HOOKS[self.program]

    @property
    def path(self) -> Path:
        """The file with the hooks."""
        return self._places.paths([self.form.file])[0]

    @property
    def _places(self) -> Places:
        return Places(self.home, self.environ)

    def _manifest_path(self) -> Path | None:
        """Return the file that makes the folder an extension; None if the program needs none."""
        return self._places.path(self.form.manifest) if self.form.manifest else None

    def plan_install(self, agent: str | None) -> list[SettingsChange]:
        """Return the changes that install the hooks."""
        wanted = {
            name: self.form.hook(name, command_of(self.program, event, agent, self.environ))
            for event, name in self.form.events.items()
        }
        before = read_settings(self.path)
        try:
            if self.form.is_own_file and before is not None and not find_hooks(self.form, before):
                raise ConfigInvalidError(
                    f"{self.path} has no hooks of memd",
                    hint="move the file away, then run the command again",
                )
            # From the text without hooks if it is known, so that uninstalling finds it again.
            is_original, original = original_of(self.form, before or "", self._backups())
            start = original if is_original else before
            return [*self._manifest(), self._change(before, with_hooks(self.form, start or "", wanted))]
        except UneditableTextError as error:
            raise uneditable(self.path, error, HINT) from None

    def plan_uninstall(self) -> list[SettingsChange]:
        """Return the changes that remove the hooks; none if there are no hooks."""
        before = read_settings(self.path)
        try:
            if before is None or not find_hooks(self.form, before):
                return []
            is_original, original = original_of(self.form, before, self._backups())
            after = original if is_original else without_hooks(self.form, before)
        except UneditableTextError as error:
            raise uneditable(self.path, error, HINT) from None
        manifest = self._manifest_path() if after is None else None
        changes = [self._change(before, after)]
        if manifest is not None:
            changes.append(SettingsChange(manifest, read_settings(manifest), None, HINT, False))
        return changes

    def remove_empty_folders(self) -> None:
        """Remove the folders of files that held memd's hooks alone, if nothing else is in them."""
        if self.form.is_own_file:
            manifest = self._manifest_path()
            folders = [self.path.parent, *([manifest.parent] if manifest else [])]
            with contextlib.suppress(OSError):
                for folder in folders:
                    folder.rmdir()

    def _change(self, before: str | None, after: str | None) -> SettingsChange:
        return SettingsChange(self.path, before, after, HINT, not self.form.is_own_file)

    def _manifest(self) -> list[SettingsChange]:
        """Return the change of the file that makes the folder an extension."""
        path = self._manifest_path()
        if path is None:
            return []
        about = {"name": "memd", "version": CLIENT_VERSION, "description": "Hooks of memd, a local memory."}
        return [SettingsChange(path, read_settings(path), json.dumps(about, indent=2) + "\n", HINT, False)]

    def _backups(self) -> Iterator[str]:
        """Yield the texts of the backups, the newest first."""
        for path in backups_of(self.path)[:MAX_BACKUPS]:
            with contextlib.suppress(MemdError):
                text = read_settings(path)
                if text is not None:
                    yield text


def installed_hooks(files: HookFiles) -> ProgramConnection:
    """Return what is installed for a program, and whether its command still exists."""
    return read_hooks(files.program, files.path)
