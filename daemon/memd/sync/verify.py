"""Hits against the disk: what is no longer there is not returned."""

from __future__ import annotations

from memd.sync.discover import Discovery
from memd.sync.read import read_file
from memd.sync.reconcile import Changes
from memd_client.errors import MemdError
from memd_client.messages import Hit


def keep_current(hits: list[Hit], disk: Discovery, behind: Changes | None) -> list[Hit]:
    """Return the hits whose text is on disk (blocking: reads the files that changed).

    Args:
        hits: What the index says.
        disk: The files there are, from this very request. Paths of other sources pass.
        behind: What the index doesn't know yet, or None where it knows everything.
    """
    changed = {found.path: found for found in behind.read} if behind is not None else {}
    kept = []
    for hit in hits:
        if hit.source != "memory":
            kept.append(hit)
        elif hit.path in changed:
            if _still_holds(hit, disk):
                kept.append(hit)
        elif hit.path in disk.files:
            kept.append(hit)
    return kept


def _still_holds(hit: Hit, disk: Discovery) -> bool:
    """Return whether a changed file still holds a hit's text at the hit's lines."""
    found = disk.files.get(hit.path)
    if found is None:
        return False
    try:
        text = read_file(found).text
    except MemdError:
        return False
    lines = text.split("\n")[hit.start_line - 1 : hit.end_line]
    return hit.snippet in "\n".join(lines)
