"""Entries of the curated notes that have triggers or projects, read from the files as they are now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from memd.settings.schema import Chunking
from memd.sync.sources import Sources
from memd.text.cut.annotations import (
    Annotations,
    hide_annotations,
    read_annotations,
    source_lines,
    split_entries,
)
from memd.text.cut.chunking import chunk_text
from memd_client.errors import MemdError
from memd_client.messages import CuratedEntriesParams, CuratedEntry

LISTED_FILES: Final = ("MEMORY.md", "USER.md")
"""The notes whose entries are listed; OpenClaw's own memory lists no others."""

DEFAULT_LIMITS: Final = {"triggers": 512, "projects": 48}
"""How many entries are listed of each kind if the request doesn't say."""


def list_curated(sources: Sources, chunking: Chunking, params: CuratedEntriesParams) -> list[CuratedEntry]:
    """Return entries, the most important first (blocking: reads the files)."""
    files = sources.find_notes().files
    active = None if params.active_projects is None else {key.strip() for key in params.active_projects}
    entries: list[CuratedEntry] = []
    for path in LISTED_FILES:
        if path not in files or (params.paths is not None and path not in params.paths):
            continue
        try:
            file = sources.load(files[path])
        except MemdError:
            continue
        for start, end, text, said in _parts(file.text, path, chunking):
            if _is_wanted(said, params.kind, active):
                entries.append(
                    CuratedEntry(
                        path=path,
                        start_line=start,
                        end_line=end,
                        text=text,
                        importance=said.importance,
                        triggers=list(said.triggers),
                        projects=list(said.projects),
                        mtime_ms=file.mtime_ns // 1_000_000,
                    )
                )
    entries.sort(key=lambda entry: (-(entry.importance or 0), entry.path, entry.start_line))
    return entries[: DEFAULT_LIMITS[params.kind] if params.limit is None else params.limit]


def _parts(text: str, path: str, chunking: Chunking) -> Iterator[tuple[int, int, str, Annotations]]:
    """Yield the entries of a note, long ones in parts: first and last line, text without comments, what those say.

    The comments of a list item are about all its parts, those of a section about the part they are in.
    """
    lines, hidden = source_lines(text), hide_annotations(text)
    shown = hidden.split("\n")
    for entry in split_entries(hidden):
        before = entry.start_line - 1
        block = "\n".join(shown[before : entry.end_line])
        for chunk in chunk_text(block, chunking.tokens, chunking.overlap):
            if chunk.text.strip():
                first, last = before + chunk.start_line, before + chunk.end_line
                about = lines[before : entry.end_line] if entry.is_item else lines[first - 1 : last]
                yield first, last, chunk.text, read_annotations(about, path)


def _is_wanted(annotations: Annotations, kind: str, active: set[str] | None) -> bool:
    """Return whether an entry is listed."""
    projects = set(annotations.projects)
    if annotations.is_invalid or (kind == "triggers" and not annotations.triggers):
        return False
    if kind == "projects":
        return bool(projects) and projects <= (active or set())
    return active is None or projects <= active
