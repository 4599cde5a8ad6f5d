"""Detects whether the machine runs on battery, on Linux and macOS."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import trio

from memd.system.log import log

SUPPLIES: Final = Path("/sys/class/power_supply")
"""Folder in which Linux has one folder for each power supply."""

POLL_INTERVAL_S: Final = 30.0
"""Time between checks. A machine without a battery is checked once."""

PMSET_TIMEOUT_S: Final = 5.0


def load_on_battery(supplies: Path = SUPPLIES, platform: str = sys.platform) -> bool | None:
    """Return whether the machine runs on battery; None if it has none, or the system doesn't report it."""
    return _run_pmset() if platform == "darwin" else _read_supplies(supplies)


def _read_supplies(supplies: Path) -> bool | None:
    """Return whether a battery discharges and no external supply is online, from Linux's folder of supplies."""
    fed, discharging = False, None
    try:
        found = sorted(supplies.iterdir())
    except OSError:
        return None
    for supply in found:
        kind = _read(supply / "type")
        if kind == "Battery" and _read(supply / "scope") != "Device":  # not a mouse's or a headset's
            discharging = bool(discharging) or _read(supply / "status") == "Discharging"
        elif kind in ("Mains", "USB", "Wireless"):
            fed = fed or _read(supply / "online") == "1"
    return None if discharging is None else discharging and not fed


def _read(file: Path) -> str:
    """Return a line of a kernel file, empty if it can't be read."""
    try:
        return file.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def _run_pmset() -> bool | None:
    """Return whether macOS reports battery power."""
    try:
        ran = subprocess.run(
            ["/usr/bin/pmset", "-g", "batt"], capture_output=True, text=True, timeout=PMSET_TIMEOUT_S
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return "'Battery Power'" in ran.stdout if "InternalBattery" in ran.stdout else None


class PowerMonitor:
    """Whether the machine runs on battery, kept up to date by `run`."""

    def __init__(self, load: Callable[[], bool | None] = load_on_battery) -> None:
        self._load = load
        self.on_battery = False

    def __repr__(self) -> str:
        return f"<PowerMonitor {'battery' if self.on_battery else 'mains'}>"

    async def run(self) -> None:
        """Poll until cancelled; return at once if there is no battery."""
        while (found := await trio.to_thread.run_sync(self._load)) is not None:
            if found != self.on_battery:
                self.on_battery = found
                log.info("power.source_changed", source="battery" if found else "mains")
            await trio.sleep(POLL_INTERVAL_S)
