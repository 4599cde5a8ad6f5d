"""Whether replies to the user name the places they rest on."""

from __future__ import annotations

from memd.lifecycle.notes.session_kinds import SHARED, Kind
from memd.settings.lifecycle import Citations

MODES: tuple[Citations, ...] = ("auto", "on", "off")


def wants_citations(mode: Citations, kind: Kind) -> bool:
    """Return whether places are named."""
    return mode == "on" or (mode == "auto" and kind not in SHARED)
