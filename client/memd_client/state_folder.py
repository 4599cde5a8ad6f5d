"""The state folder: OpenClaw's if there is one, else memd's own. Used by client and daemon.

Paths are strings and nothing but `os` and `sys` is imported, because a hook must start within milliseconds.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Home = Callable[[], str]

STATE_VARIABLE = "OPENCLAW_STATE_DIR"
HOME_VARIABLE = "OPENCLAW_HOME"
CONFIG_VARIABLE = "OPENCLAW_CONFIG_PATH"

STATE_FOLDER = ".openclaw"
OLD_STATE_FOLDER = ".clawdbot"
CONFIG_NAME = "openclaw.json"
OLD_CONFIG_NAME = "clawdbot.json"

USUAL_NAME = "memd"
"""Name of the daemon of the user's default state folder: of its socket, log and service."""


def find_state_dir(env: Mapping[str, str], home: Home) -> str:
    """Return the state folder: the one that OpenClaw's variables name, OpenClaw's, or memd's own.

    Args:
        env: The environment.
        home: Returns the user's home directory; called only if it is needed.
    """
    named = value_of(env, STATE_VARIABLE)
    if named:
        return named_path(named, env, home)
    folder = openclaw_home(env, home)
    if _named_home(env) or value_of(env, CONFIG_VARIABLE):
        return find_openclaw(folder) or os.path.join(folder, STATE_FOLDER)
    return find_openclaw(folder) or own_state_dir(env, folder)


def names_state_dir(env: Mapping[str, str]) -> bool:
    """Return whether the environment names a state folder, which may be the default one."""
    return bool(value_of(env, STATE_VARIABLE) or _named_home(env))


def openclaw_home(env: Mapping[str, str], home: Home) -> str:
    """Return the folder that OpenClaw takes for the home directory: `OPENCLAW_HOME`, else `home()`."""
    named = _named_home(env)
    return absolute_path(named, home) if named else home()


def _named_home(env: Mapping[str, str]) -> str:
    """Return `OPENCLAW_HOME`; like OpenClaw, take these two words for an unset variable."""
    named = value_of(env, HOME_VARIABLE)
    return "" if named in ("undefined", "null") else named


def named_path(named: str, env: Mapping[str, str], home: Home) -> str:
    """Return the absolute path in one of OpenClaw's variables; `~` is OpenClaw's home directory."""
    return absolute_path(named, lambda: openclaw_home(env, home))


def absolute_path(path: str, home: Home) -> str:
    """Return a path without `~`, `.` and `..`; a relative path starts at the working directory."""
    if path == "~" or path.startswith("~/"):
        path = home() + path[1:]
    return os.path.abspath(path)


def value_of(env: Mapping[str, str], name: str) -> str:
    """Return a variable without surrounding spaces; empty if it is unset."""
    return env.get(name, "").strip()


def find_openclaw(home: str) -> str | None:
    """Return OpenClaw's state folder in a home directory, or None if there is none.

    A folder of that name counts only if OpenClaw uses it; see `is_openclaw_dir`. The newer name has precedence.
    """
    folders = (os.path.join(home, name) for name in (STATE_FOLDER, OLD_STATE_FOLDER))
    return next((folder for folder in folders if is_openclaw_dir(folder)), None)


def is_openclaw_dir(folder: str) -> bool:
    """Return whether a folder contains a settings file, a workspace or agents of OpenClaw.

    A folder that can't be listed counts: its contents are unknown, and it isn't memd's.
    """
    try:
        names = os.listdir(folder)
        if CONFIG_NAME in names or OLD_CONFIG_NAME in names:
            return True
        if any(name == "workspace" or name.startswith("workspace-") for name in names):
            return True
        parent, name = os.path.split(folder)
        if name == OLD_STATE_FOLDER and os.path.isdir(os.path.join(parent, "clawd")):
            return True
        if "agents" not in names:
            return False
        with os.scandir(os.path.join(folder, "agents")) as agents:
            return any(agent.is_dir() for agent in agents)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def own_state_dir(env: Mapping[str, str], home: str) -> str:
    """Return memd's own state folder, for a machine without OpenClaw; it is not created."""
    return os.path.join(data_dir(env, home), "state")


def data_dir(env: Mapping[str, str], home: str) -> str:
    """Return memd's folder for user data, in `XDG_DATA_HOME` or the platform's default folder."""
    named = value_of(env, "XDG_DATA_HOME")
    if os.path.isabs(named):
        return os.path.join(os.path.normpath(named), "memd")
    platform: str = sys.platform  # a plain string, so that the type checker reads both branches
    usual = "Library/Application Support" if platform == "darwin" else ".local/share"
    return os.path.join(home, usual, "memd")


def daemon_name(env: Mapping[str, str], home: Home, state_dir: str | None = None) -> str:
    """Return the name of a state folder's daemon: `memd` for the user's default folder, `memd-5f2c1a07` for another.

    The default folder is the folder that is found without OpenClaw's variables, and `~/.openclaw` in any case: it
    becomes the default as soon as OpenClaw has files there.

    Args:
        env: The environment.
        home: Returns the user's home directory; called only if it is needed.
        state_dir: An absolute path; None: found by the environment.
    """
    if state_dir is None:
        if not names_state_dir(env):
            return USUAL_NAME
        state_dir = find_state_dir(env, home)
    folder = home()
    usual = (os.path.join(folder, STATE_FOLDER), find_openclaw(folder) or own_state_dir(env, folder))
    if any(is_same_folder(state_dir, each) for each in usual):
        return USUAL_NAME
    return f"{USUAL_NAME}-{_number_of(os.path.realpath(state_dir)):08x}"


def is_same_folder(path: str, other: str) -> bool:
    """Return whether two paths lead to the same folder, which may be missing."""
    if os.path.realpath(path) == os.path.realpath(other):
        return True
    try:
        return os.path.samefile(path, other)  # a file system may ignore case
    except OSError:
        return False


def _number_of(path: str) -> int:
    """Return the 32-bit FNV-1a hash of a path: hashlib takes longer to import than a hook may take to start.

    If two folders share a number, the daemon of one refuses the clients of the other.
    """
    number = 0x811C9DC5
    for octet in os.fsencode(path):
        number = (number ^ octet) * 0x01000193 & 0xFFFFFFFF
    return number
