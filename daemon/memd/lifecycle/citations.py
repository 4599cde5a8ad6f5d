"""Whether replies to the user name the places they rest on."""

from __future__ import annotations

from memd.life_settings import Citations
from memd.lifecycle.session_kinds import SHARED, Kind

MODES: tuple[Citations, ...] = ("auto", "on", "off")


def wants_citations(mode: Citations, kind: Kind) -> bool:
    """Return whether places are named.

    Args:
        mode: The setting; `auto` names them where nobody but the user reads: a file's name tells of what is private.
        kind: Where the answer is read.
    """
    return mode == "on" or (mode == "auto" and kind not in SHARED)
