"""The files of the installed service: whether it starts at login, and the program that it starts."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from memd.service.checks.finding import OK, WARNING, WRONG, Finding
from memd.service.install.unit_names import unit_names, units_folder
from memd.system.state_file import load_text
from memd_client.discovery import home_directory
from memd_client.state_folder import USUAL_NAME, daemon_name

SYSTEM_FOLDERS = ("/etc/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user")
INSTALL_SERVICE = "memctl service install"


def find_systemd_unit(environ: Mapping[str, str], home: Path) -> Path | None:
    """Return the path of the installed systemd unit; None if there is none."""
    _, service = unit_names(daemon_name(environ, lambda: str(home)))
    units = (Path(folder, service) for folder in (units_folder(environ, str(home)), *SYSTEM_FOLDERS))
    return next((unit for unit in units if unit.is_file()), None)


def has_systemd_unit() -> bool:
    """Return whether a systemd service is installed for this user."""
    return find_systemd_unit(os.environ, Path(home_directory())) is not None


def find_launchd_log(home: Path, name: str = USUAL_NAME, platform: str = sys.platform) -> str:
    """Return the path of launchd's log of a daemon; empty if no launch agent is installed."""
    if platform != "darwin" or not _plist_path(home, name).is_file():
        return ""
    from memd.service.install import launchd

    return launchd.log_file(str(home), name)


def _plist_path(home: Path, name: str) -> Path:
    """Return the path of the launch agent's file."""
    from memd.service.install import launchd  # imported here: plistlib is slow, and Linux doesn't need it

    return Path(launchd.plist_path(launchd.agents_folder(str(home)), name))


def check_service(environ: Mapping[str, str], home: Path, platform: str = sys.platform) -> list[Finding]:
    """Return the finding on the installed service."""
    if platform == "darwin":
        plist = _plist_path(home, daemon_name(environ, lambda: str(home)))
        found = f"{plist}" if plist.is_file() else "not installed; clients start the daemon when needed"
        return [Finding("service", "launchd", OK, found)]
    unit = find_systemd_unit(environ, home)
    if unit is None:
        return [Finding("service", "systemd", OK, "not installed; clients start the daemon when needed")]
    program = _program_of(unit)
    if program and shutil.which(program) is None:
        found = f"{unit} starts {program}, which does not exist"
        return [Finding("service", "systemd", WRONG, found, f"install memd, then run `{INSTALL_SERVICE}`")]
    wants = Path(units_folder(environ, str(home)))
    enabled = [
        name
        for name, target in ((f"{unit.stem}.socket", "sockets.target"), (unit.name, "default.target"))
        if (wants / f"{target}.wants" / name).is_symlink()
    ]
    if not enabled:
        found = f"{unit} is not enabled: it does not start at login"
        return [Finding("service", "systemd", WARNING, found, INSTALL_SERVICE)]
    return [Finding("service", "systemd", OK, f"{unit}, enabled: {', '.join(enabled)}")]


def _program_of(unit: Path) -> str:
    """Return the program a unit starts; empty if unknown."""
    try:
        line = re.search(r'^ExecStart=[-@:+!]*("[^"]+"|\S+)', load_text(unit), re.MULTILINE)
    except (OSError, ValueError):
        return ""
    program = line[1].strip('"') if line else ""
    return "" if "%" in program else program
