"""Sample requirements and machines, and fake service managers that record calls."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memd.service.install.plan import InstallPlan, Machine, Needs, RunCommand, WriteFile

HOME = "/home/ann"


def needs(**changed: Any) -> Needs:
    """Return the requirements of default settings."""
    usual: dict[str, Any] = {
        "command": (f"{HOME}/.local/bin/memd",),
        "socket": "",
        "written": (f"{HOME}/.openclaw", f"{HOME}/.openclaw/memory", f"{HOME}/.cache/memd/models"),
        "read": (f"{HOME}/.openclaw/workspace",),
        "memory_mb": 2048,
        "environ": {},
    }
    return Needs(**{**usual, **changed})


def systemd_machine(**changed: Any) -> Machine:
    """Return a machine with systemd, without the service."""
    usual: dict[str, Any] = {
        "kind": "systemd",
        "folder": f"{HOME}/.config/systemd/user",
        "home": HOME,
        "uid": 1000,
    }
    return Machine(**{**usual, **changed})


def launchd_machine(**changed: Any) -> Machine:
    """Return a Mac without the service."""
    usual = {"kind": "launchd", "folder": f"{HOME}/Library/LaunchAgents", "home": HOME, "uid": 501}
    return Machine(**{**usual, **changed})


def commands(plan: InstallPlan) -> list[str]:
    """Return the commands of a plan, in order."""
    return [" ".join(step.argv) for step in plan.steps if isinstance(step, RunCommand)]


def written(plan: InstallPlan) -> dict[str, str]:
    """Return the files of a plan: path and text."""
    return {step.path: step.text for step in plan.steps if isinstance(step, WriteFile)}


class FakeManagers:
    """`systemctl`, `systemd-run`, `journalctl`, `launchctl` and `tail` that record their calls."""

    NAMES = ("systemctl", "systemd-run", "journalctl", "launchctl", "tail")

    def __init__(
        self, folder: Path, says: Mapping[str, str] | None = None, fails: tuple[str, ...] = ()
    ) -> None:
        self.folder = folder
        self._calls = folder / "calls"
        folder.mkdir()
        cases = [f'"{begin}"*) echo "no, not that" >&2; exit 1;;' for begin in fails]
        cases += [f"\"{begin}\"*) printf '{text}';;" for begin, text in (says or {}).items()]
        for name in self.NAMES:
            file = folder / name
            file.write_text(
                f'#!/bin/sh\necho "{name} $*" >> "{self._calls}"\n'
                f'case "{name} $*" in\n{os.linesep.join(cases)}\nesac\nexit 0\n'
            )
            file.chmod(0o755)

    @property
    def path(self) -> str:
        """PATH that starts with these programs."""
        return f"{self.folder}{os.pathsep}{os.environ['PATH']}"

    def calls(self) -> list[str]:
        """Return the calls that change something, in order."""
        looks = ("systemctl --user show", "launchctl print", "systemd-run")
        return [each for each in self.all_calls() if not each.startswith(looks)]

    def all_calls(self) -> list[str]:
        """Return all calls, in order."""
        return self._calls.read_text().splitlines() if self._calls.exists() else []
