"""Hits against the disk: what is no longer there is not returned."""

from __future__ import annotations

import os
from collections.abc import Callable

from memd.sync.changes import Changes
from memd.sync.discover import Discovery, Found
from memd.sync.read import FileText
from memd_client.errors import MemdError
from memd_client.messages import Hit

Check = Callable[[Hit], bool]
"""Says whether a hit's text is on disk (blocking: may read the file)."""


def check_against(disk: Discovery, behind: Changes | None, load: Callable[[Found], FileText]) -> Check:
    """Return a check of hits against a look at the disk; files that changed since they were indexed are read.

    Args:
        disk: The files and transcripts there are, from this very request.
        behind: What the index doesn't know yet, or None where it knows everything.
        load: Reads one.
    """
    changed = {found.path: found for found in behind.read} if behind is not None else {}

    def is_there(hit: Hit) -> bool:
        found = changed.get(hit.path)
        return hit.path in disk.files if found is None else _still_holds(hit, found, load)

    return is_there


def check_by_name(workspace: str) -> Check:
    """Return a check that a hit's file is there, where nothing more can be known; it needs no descriptor.

    Args:
        workspace: Where their paths start; transcripts pass.
    """

    def is_there(hit: Hit) -> bool:
        return hit.source != "memory" or os.path.lexists(os.path.normpath(os.path.join(workspace, hit.path)))

    return is_there


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
