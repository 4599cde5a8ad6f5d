"""Hits against the disk: what is no longer there is not returned."""

from __future__ import annotations

import os
from collections.abc import Callable

from memd.sync.changes import Changes
from memd.sync.discover import Discovery, Found
from memd.sync.read import FileText
from memd_client.errors import MemdError
from memd_client.messages import Hit


def keep_current(
    hits: list[Hit], disk: Discovery, behind: Changes | None, load: Callable[[Found], FileText]
) -> list[Hit]:
    """Return the hits whose text is on disk (blocking: reads the files that changed).

    Args:
        hits: What the index says.
        disk: The files and transcripts there are, from this very request.
        behind: What the index doesn't know yet, or None where it knows everything.
        load: Reads one.
    """
    changed = {found.path: found for found in behind.read} if behind is not None else {}
    kept = []
    for hit in hits:
        if hit.path in changed:
            if _still_holds(hit, changed[hit.path], load):
                kept.append(hit)
        elif hit.path in disk.files:
            kept.append(hit)
    return kept


def keep_existing(hits: list[Hit], workspace: str) -> list[Hit]:
    """Return the hits whose file is there, where nothing more can be known (blocking; needs no descriptor).

    Args:
        hits: What the index says.
        workspace: Where their paths start; transcripts pass.
    """
    return [
        hit
        for hit in hits
        if hit.source != "memory" or os.path.lexists(os.path.normpath(os.path.join(workspace, hit.path)))
    ]


def _still_holds(hit: Hit, found: Found, load: Callable[[Found], FileText]) -> bool:
    """Return whether a changed file still holds a hit's text at the hit's lines; a transcript, anywhere."""
    try:
        text = load(found).text
    except MemdError:
        return False
    if hit.source != "memory":
        return hit.snippet in text
    lines = text.split("\n")[hit.start_line - 1 : hit.end_line]
    return hit.snippet in "\n".join(lines)
