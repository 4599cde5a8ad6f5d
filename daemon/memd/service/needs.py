"""The settings' requirements of a service: folders to write and read, RAM, variables.

`memctl service install` runs this module as a process and reads the JSON object it prints, because the command line
may not import the daemon's packages.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from memd.embedding.local.fit import load_memory_bytes
from memd.settings.agents import OpenClawHome, load_settings
from memd.settings.paths import models_dir
from memd.settings.ram_budget import MB, budget_of
from memd.settings.reference import VARIABLES
from memd_client.discovery import home_directory
from memd_client.errors import MemdError
from memd_client.state_folder import (
    CONFIG_VARIABLE,
    STATE_VARIABLE,
    USUAL_NAME,
    absolute_path,
    daemon_name,
    openclaw_home,
)

CARRIED = (
    "OPENCLAW_STATE_DIR", "OPENCLAW_HOME", "OPENCLAW_CONFIG_PATH", "MEMD_CONFIG", "MEMD_MODEL_DIR", "MEMD_SOCKET",
    "HF_ENDPOINT", "HF_HUB_OFFLINE", "SSL_CERT_FILE", "XDG_CONFIG_HOME", "XDG_CACHE_HOME",
)  # fmt: skip
"""Variables copied into the service's file. None of them is a secret."""

FOLDERS = CARRIED[:6]
"""Variables with a path, which is made absolute."""

SECRET_ENDS = ("_KEY", "_TOKEN", "_PROXY")
"""Ends of the names of variables that may contain keys or passwords."""


def find_needs(environ: Mapping[str, str], home_dir: Path) -> dict[str, Any]:
    """Return the requirements as data for `plan.Needs`."""
    home, daemon, _ = load_settings(environ, home_dir)
    home_path = partial(str, home_dir)
    carried = {name: environ[name] for name in CARRIED if environ.get(name, "").strip()}
    for name in FOLDERS:
        if name in carried:
            has_own_home = name in (STATE_VARIABLE, CONFIG_VARIABLE)
            home_of = partial(openclaw_home, environ, home_path) if has_own_home else home_path
            carried[name] = absolute_path(carried[name].strip(), home_of)
    shared = daemon.socket if daemon_name(environ, home_path) == USUAL_NAME else ""
    return {
        "socket": carried.get("MEMD_SOCKET") or shared or "",
        "written": [str(each) for each in _written(home, models_dir(environ))],
        "read": [str(each) for each in _read(home)],
        "memory_mb": budget_of(daemon, load_memory_bytes()).total // MB,
        "environ": carried,
        "hidden": [name for name in VARIABLES if name.endswith(SECRET_ENDS) and environ.get(name)],
    }


def _written(home: OpenClawHome, models: Path) -> list[Path]:
    """Return the directories that the daemon writes: indexes, models, notes; without the socket's."""
    agents = home.agents.values()
    elsewhere = [agent.workspace for agent in agents if not agent.workspace.is_relative_to(home.state_dir)]
    own = [agent.settings.local.model_cache_dir for agent in agents]
    found = [home.state_dir, *(agent.index_path.parent for agent in agents), models, *elsewhere]
    return list(dict.fromkeys([*found, *(Path(each).expanduser() for each in own if each)]))


def _read(home: OpenClawHome) -> list[Path]:
    """Return the folders with notes."""
    agents = home.agents.values()
    extra = [
        agent.workspace / Path(each.path).expanduser()
        for agent in agents
        for each in agent.settings.extra_paths
    ]
    return list(dict.fromkeys([*(agent.workspace for agent in agents), *extra]))


if __name__ == "__main__":
    try:
        os.environ["HOME"] = home_directory()
        json.dump(find_needs(os.environ, Path(os.environ["HOME"])), sys.stdout)
    except MemdError as error:  # `memctl service install` shows it
        sys.stderr.write(f"{error.message}. {error.hint}\n")
        raise SystemExit(1) from None
