"""Hits against the disk: what is no longer there is not returned."""

from __future__ import annotations

import os
from collections.abc import Callable

from memd.sync.disk.changes import Changes
from memd.sync.disk.discover import Discovery, Found
from memd.sync.disk.read import FileText
from memd.text.cut.annotations import hide_annotations
from memd_client.errors import MemdError
from memd_client.messages import Hit

Check = Callable[[Hit], bool]
"""Says whether a hit's text is on disk (blocking: may read the file)."""


def check_against(disk: Discovery, behind: Changes | None, load: Callable[[Found], FileText]) -> Check:
    """Return a check of hits against a look at the disk; files that changed since they were indexed are read."""
    changed = {found.path: found for found in behind.read} if behind is not None else {}
    texts: dict[str, str | None] = {}

    def is_there(hit: Hit) -> bool:
        found = changed.get(hit.path)
        if found is None:
            return hit.path in disk.files
        if hit.path not in texts:  # one look is enough for all hits of a file, however long it is
            texts[hit.path] = _load(found, load)
        return _still_holds(hit, texts[hit.path])

    return is_there


def check_by_name(workspace: str) -> Check:
    """Return a check that a hit's file is there, where nothing more can be known; it needs no descriptor."""

    def is_there(hit: Hit) -> bool:
        return hit.source != "memory" or os.path.lexists(os.path.normpath(os.path.join(workspace, hit.path)))

    return is_there


def _load(found: Found, load: Callable[[Found], FileText]) -> str | None:
    """Return what is indexed of a changed file's current text, or None if it can't be read."""
    try:
        text = load(found).text
    except MemdError:
        return None
    return hide_annotations(text) if found.source == "memory" else text


def _still_holds(hit: Hit, text: str | None) -> bool:
    """Return whether a changed file still holds a hit's text at the hit's lines; a transcript, anywhere."""
    if text is None:
        return False
    at = text.find(hit.snippet)
    if hit.source != "memory" or at < 0:
        return at >= 0
    while at >= 0:
        line = text.count("\n", 0, at) + 1
        if line >= hit.start_line:
            return line == hit.start_line
        at = text.find(hit.snippet, at + 1)
    return False
