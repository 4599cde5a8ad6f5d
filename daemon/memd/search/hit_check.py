"""Checks hits against the disk, so that deleted text is not returned."""

from __future__ import annotations

import os
from collections.abc import Callable

from memd.sources.source import FileText, Listing, SourceFile
from memd.sync.text.changes import Changes
from memd.text.cut.annotations import hide_annotations
from memd.text.lines import start_of_line
from memd_client.errors import MemdError
from memd_client.messages import Hit

Check = Callable[[Hit], bool]
"""Returns whether a hit's text is on disk (blocking: may read the file)."""


def check_against(disk: Listing, behind: Changes | None, load: Callable[[SourceFile], FileText]) -> Check:
    """Return a check of hits against a scan of the disk; it reads files that changed since they were indexed."""
    changed = {found.path: found for found in behind.read} if behind is not None else {}
    texts: dict[str, str | None] = {}

    def is_there(hit: Hit) -> bool:
        found = changed.get(hit.path)
        if found is None:
            return hit.path in disk.files
        if hit.path not in texts:  # read once for all hits of a file
            texts[hit.path] = _load(found, load)
        return _contains_hit(hit, texts[hit.path], is_conversation=found.is_conversation)

    return is_there


def check_by_name(workspace: str) -> Check:
    """Return a check that a hit's file exists, for a disk that can't be scanned; it needs no descriptor."""

    def is_there(hit: Hit) -> bool:
        return hit.source != "memory" or os.path.lexists(os.path.normpath(os.path.join(workspace, hit.path)))

    return is_there


def _load(found: SourceFile, load: Callable[[SourceFile], FileText]) -> str | None:
    """Return a changed file's text as it would be indexed, or None if it can't be read."""
    try:
        text = load(found).text
    except MemdError:
        return None
    return text if found.is_conversation else hide_annotations(text)


def _contains_hit(hit: Hit, text: str | None, *, is_conversation: bool) -> bool:
    """Return whether a file still has a hit's text at the hit's lines; a transcript, anywhere."""
    if text is None:
        return False
    start = 0 if is_conversation else start_of_line(text, hit.start_line)
    at = text.find(hit.snippet, start)
    return at >= 0 and (is_conversation or text.find("\n", start, at) < 0)
