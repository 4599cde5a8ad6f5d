"""Whether the daemon is installed as a service, as far as files tell: nothing is asked of a service manager."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from memd.cli.checks.finding import OK, WARNING, WRONG, Finding
from memd.service.install.unit_names import SERVICE, SOCKET, units_folder
from memd.system.state_file import load_text
from memd_client.discovery import home_directory

SYSTEM_FOLDERS = ("/etc/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user")
INSTALL = "memctl service install"


def find_systemd_unit(environ: Mapping[str, str], home: Path) -> Path | None:
    """Return the unit of the service; None where none is installed."""
    for folder in (Path(units_folder(environ, str(home))), *map(Path, SYSTEM_FOLDERS)):
        if (folder / SERVICE).is_file():
            return folder / SERVICE
    return None


def has_systemd_unit() -> bool:
    """Return whether a systemd service is installed for this user."""
    return find_systemd_unit(os.environ, Path(home_directory())) is not None


def find_launchd_log(home: Path, platform: str = sys.platform) -> str:
    """Return where launchd keeps the log; empty where no launch agent is installed."""
    if platform != "darwin" or not _plist(home).is_file():
        return ""
    from memd.service.install import launchd

    return launchd.log_file(str(home))


def _plist(home: Path) -> Path:
    """Return where the launch agent's file is."""
    from memd.service.install import launchd  # here: Linux, which has none, does without plistlib

    return Path(launchd.plist_path(launchd.agents_folder(str(home))))


def check_service(environ: Mapping[str, str], home: Path, platform: str = sys.platform) -> list[Finding]:
    """Return how the service is."""
    if platform == "darwin":
        plist = _plist(home)
        found = f"{plist}" if plist.is_file() else "not installed: clients start the daemon when it is needed"
        return [Finding("service", "launchd", OK, found)]
    unit = find_systemd_unit(environ, home)
    if unit is None:
        return [
            Finding("service", "systemd", OK, "not installed: clients start the daemon when it is needed")
        ]
    program = _program_of(unit)
    if program and shutil.which(program) is None:
        found = f"{unit} starts {program}, which is not there"
        return [Finding("service", "systemd", WRONG, found, f"{INSTALL}, after memd is installed")]
    wants = Path(units_folder(environ, str(home)))
    enabled = [
        name
        for name, target in ((SOCKET, "sockets.target"), (SERVICE, "default.target"))
        if (wants / f"{target}.wants" / name).is_symlink()
    ]
    if not enabled:
        found = f"{unit} is installed and not enabled: it doesn't start by itself"
        return [Finding("service", "systemd", WARNING, found, INSTALL)]
    return [Finding("service", "systemd", OK, f"{unit}, enabled: {', '.join(enabled)}")]


def _program_of(unit: Path) -> str:
    """Return the program a unit starts; empty where that isn't plain."""
    try:
        line = re.search(r'^ExecStart=[-@:+!]*("[^"]+"|\S+)', load_text(unit), re.MULTILINE)
    except (OSError, ValueError):
        return ""
    program = line[1].strip('"') if line else ""
    return "" if "%" in program else program
