"""The names of memd's systemd units and their folder. Separate from `systemd`, so that `memctl doctor` imports less."""

from __future__ import annotations

import os
from collections.abc import Mapping


def unit_names(name: str) -> tuple[str, str]:
    """Return the names of the socket unit and the service unit of a daemon."""
    return f"{name}.socket", f"{name}.service"


def units_folder(environ: Mapping[str, str], home: str) -> str:
    """Return the folder of a user's units."""
    named = environ.get("XDG_CONFIG_HOME", "")
    return os.path.join(named if os.path.isabs(named) else os.path.join(home, ".config"), "systemd", "user")
