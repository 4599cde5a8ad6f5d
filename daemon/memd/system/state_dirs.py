"""Finds the state directory: OpenClaw's if there is one, else memd's own.

Standard library only, because the command line imports it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

STATE_FOLDER: Final = ".openclaw"
OLD_STATE_FOLDER: Final = ".clawdbot"
CONFIG_NAME: Final = "openclaw.json"
OLD_CONFIG_NAME: Final = "clawdbot.json"


def find_openclaw(home: Path) -> Path | None:
    """Return OpenClaw's state directory in a home directory, or None if there is none.

    A folder of that name counts only if OpenClaw uses it; see `is_openclaw_dir`. The newer name has precedence.
    """
    folders = (home / STATE_FOLDER, home / OLD_STATE_FOLDER)
    return next((folder for folder in folders if is_openclaw_dir(folder)), None)


def files_of_openclaw(home: Path) -> tuple[Path, ...]:
    """Return the paths that appear once OpenClaw is installed; a caller watches them."""
    names = {STATE_FOLDER: ("", CONFIG_NAME, "agents"), OLD_STATE_FOLDER: ("", OLD_CONFIG_NAME, "agents")}
    return tuple(home / folder / name for folder in names for name in names[folder])


def is_openclaw_dir(folder: Path) -> bool:
    """Return whether a folder contains a settings file, a workspace or agents of OpenClaw.

    A folder that can't be listed counts: its contents are unknown, and it isn't memd's.
    """
    try:
        names = os.listdir(folder)
        if {CONFIG_NAME, OLD_CONFIG_NAME}.intersection(names):
            return True
        if any(name == "workspace" or name.startswith("workspace-") for name in names):
            return True
        if folder.name == OLD_STATE_FOLDER and folder.with_name("clawd").is_dir():
            return True
        return "agents" in names and any(agent.is_dir() for agent in (folder / "agents").iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def own_state_dir(environ: Mapping[str, str], home: Path) -> Path:
    """Return memd's own state directory, for a machine without OpenClaw; it is not created."""
    return data_dir(environ, home) / "state"


def data_dir(environ: Mapping[str, str], home: Path) -> Path:
    """Return memd's folder for user data, in `XDG_DATA_HOME` or the platform's default folder."""
    named = environ.get("XDG_DATA_HOME", "").strip()
    if os.path.isabs(named):
        return Path(named) / "memd"
    usual = "Library/Application Support" if sys.platform == "darwin" else ".local/share"
    return home / usual / "memd"
