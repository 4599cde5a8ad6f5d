"""Whether answers name the place they come from, and how."""

from __future__ import annotations

from memd.life_settings import Citations
from memd.lifecycle.session_kinds import SHARED, Kind
from memd.lifecycle.visible import on_one_line

MODES: tuple[Citations, ...] = ("auto", "on", "off")

MOST_CITATION_CHARS = 500
"""A path is as long as the file system lets it be; a citation is for reading."""


def wants_citations(mode: Citations, kind: Kind) -> bool:
    """Return whether places are named.

    Args:
        mode: The setting; `auto` names them where nobody but the user reads: a file's name tells of what is private.
        kind: Where the answer is read.
    """
    return mode == "on" or (mode == "auto" and kind not in SHARED)


def shown_citation(citation: str) -> str:
    """Return a place as one line, whatever the file is called.

    Args:
        citation: `path#L3-L9`.
    """
    return on_one_line(citation, MOST_CITATION_CHARS)


def with_source(snippet: str, citation: str) -> str:
    """Return a snippet whose last line names its place.

    Args:
        snippet: An exact slice of a file.
        citation: As `shown_citation` returns it.
    """
    return f"{snippet.rstrip()}\n\nSource: {citation}"
