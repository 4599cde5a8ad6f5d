"""What the settings ask of a service: where the daemon writes, what it reads, how much memory it may take.

`memctl service install` runs this module in a process of its own and reads the JSON object it prints: the command
line doesn't import the engine.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memd.embedding.local.fit import load_memory_bytes
from memd.settings.agents import OpenClawHome, load_settings
from memd.settings.memory_budget import MB, budget_of
from memd.settings.paths import models_dir
from memd.settings.reference import VARIABLES
from memd_client.discovery import home_directory
from memd_client.errors import MemdError

CARRIED = (
    "OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG_PATH", "MEMD_CONFIG", "MEMD_MODEL_DIR", "MEMD_SOCKET", "HF_ENDPOINT",
    "HF_HUB_OFFLINE", "SSL_CERT_FILE", "XDG_CONFIG_HOME", "XDG_CACHE_HOME",
)  # fmt: skip
"""Variables a service gets as they are set where it is installed. None of them is a secret."""

FOLDERS = ("OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG_PATH", "MEMD_CONFIG", "MEMD_MODEL_DIR", "MEMD_SOCKET")
"""Those that name a path, which must mean the same from any directory."""

SECRET_ENDS = ("_KEY", "_TOKEN", "_PROXY")
"""How the names of variables end that hold keys, or may hold a password."""


def find_needs(environ: Mapping[str, str], home_dir: Path) -> dict[str, Any]:
    """Return the needs of a service with these settings, as plain data."""
    home, daemon, _ = load_settings(environ, home_dir)
    carried = {name: environ[name] for name in CARRIED if environ.get(name, "").strip()}
    for name in FOLDERS:
        if name in carried:
            carried[name] = os.path.abspath(os.path.expanduser(carried[name].strip()))
    return {
        "socket": carried.get("MEMD_SOCKET") or daemon.socket or "",
        "written": [str(each) for each in _written(home, models_dir(environ))],
        "read": [str(each) for each in _read(home)],
        "memory_mb": budget_of(daemon, load_memory_bytes()).total // MB,
        "environ": carried,
        "hidden": [name for name in VARIABLES if name.endswith(SECRET_ENDS) and environ.get(name)],
    }


def _written(home: OpenClawHome, models: Path) -> list[Path]:
    """Return the directories the daemon writes in: indexes, models, notes; the socket's is its manager's."""
    agents = home.agents.values()
    elsewhere = [agent.workspace for agent in agents if not agent.workspace.is_relative_to(home.state_dir)]
    own = [agent.settings.local.model_cache_dir for agent in agents]
    found = [home.state_dir, *(agent.index_path.parent for agent in agents), models, *elsewhere]
    return list(dict.fromkeys([*found, *(Path(each).expanduser() for each in own if each)]))


def _read(home: OpenClawHome) -> list[Path]:
    """Return the folders with memory."""
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
