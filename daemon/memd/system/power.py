"""Whether the machine runs on battery, where the system tells."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import structlog
import trio

log = structlog.get_logger(__name__)

SUPPLIES: Final = Path("/sys/class/power_supply")
"""Where Linux shows the machine's power supplies, a folder each."""

LOOK_S: Final = 30.0
"""How often it is looked. A desktop and a server, which have no battery, are asked once."""

PMSET_S: Final = 5.0


def load_on_battery(supplies: Path = SUPPLIES, platform: str = sys.platform) -> bool | None:
    """Return whether the machine draws from its battery; None where it has none, or the system doesn't say."""
    return _ask_pmset() if platform == "darwin" else _read_supplies(supplies)


def _read_supplies(supplies: Path) -> bool | None:
    """Return what Linux says: on battery is whose machine's battery discharges while nothing feeds it."""
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
    """Return a line of the kernel's, empty where it can't be had."""
    try:
        return file.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def _ask_pmset() -> bool | None:
    """Return what macOS says."""
    try:
        ran = subprocess.run(
            ["/usr/bin/pmset", "-g", "batt"], capture_output=True, text=True, timeout=PMSET_S
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return "'Battery Power'" in ran.stdout if "InternalBattery" in ran.stdout else None


class Power:
    """Where the machine's power comes from, kept up to date by `run`."""

    def __init__(self, look: Callable[[], bool | None] = load_on_battery) -> None:
        self._look = look
        self.on_battery = False

    def __repr__(self) -> str:
        return f"<Power {'battery' if self.on_battery else 'mains'}>"

    async def run(self) -> None:
        """Look until cancelled; ends by itself where there is no battery."""
        while (found := await trio.to_thread.run_sync(self._look)) is not None:
            if found != self.on_battery:
                self.on_battery = found
                log.info("power.source_changed", source="battery" if found else "mains")
            await trio.sleep(LOOK_S)
