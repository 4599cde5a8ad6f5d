"""Lists an agent's files, and the annotated entries of its notes, as they are on disk."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import trio

from memd.index.connection import IndexFile
from memd.index.files import ListedFile, list_files
from memd.settings.schema import Chunking
from memd.sync.disk.discover import Discovery, SourceFile
from memd.sync.sources import Sources
from memd.sync.text.text_sync import TextSync
from memd.text.cut.annotations import (
    Annotations,
    hide_annotations,
    read_annotations,
    source_lines,
    split_entries,
)
from memd.text.cut.chunking import chunk_text
from memd.text.query.dates import day_of_note
from memd_client.errors import MemdError
from memd_client.messages import CuratedEntriesParams, CuratedEntry, FileEntry, FilesParams, FilesReply


async def list_memory(agent: str, text: TextSync, index: IndexFile, params: FilesParams) -> FilesReply:
    """Return one page of an agent's files."""
    disk, _ = await text.scan_in_thread()
    refused = {each.path for each in text.reasons}
    found = await trio.to_thread.run_sync(_newest_first, disk, refused, set(params.sources or ()))
    page = found[params.offset : params.offset + params.limit]
    paths = [each.path for each in page]
    known = await index.read(lambda db: list_files(db, paths))
    rows = [_row(each, known.get(each.path, ListedFile())) for each in page]
    return FilesReply(agent, rows, len(found), text.left_out(disk))


def _newest_first(disk: Discovery, refused: set[str], sources: set[str]) -> list[SourceFile]:
    """Return the files of some sources (of all if empty) that aren't refused, newest first."""
    files = (each for each in disk.files.values() if each.path not in refused)
    found = [each for each in files if not sources or each.source in sources]
    return sorted(found, key=_newness, reverse=True)


def _newness(found: SourceFile) -> tuple[str, int, str]:
    """Return a sort key, largest for the newest: the day in the file's name, else that of its last change."""
    about = day_of_note(found.path)
    try:
        day = about or datetime.fromtimestamp(found.mtime_ns // 1_000_000_000, UTC).date()
    except (ValueError, OverflowError, OSError):  # an invalid file time
        return "", found.mtime_ns, found.path
    return day.isoformat(), found.mtime_ns, found.path


def _row(found: SourceFile, known: ListedFile) -> FileEntry:
    about = day_of_note(found.path)
    return FileEntry(
        path=found.path,
        source=found.source,
        mtime_ms=found.mtime_ns // 1_000_000,
        size_bytes=found.size,
        chunks=known.chunks,
        title=known.title,
        date=None if about is None else about.isoformat(),
    )


LISTED_FILES: Final = ("MEMORY.md", "USER.md")
"""The notes whose entries are listed, as in OpenClaw's own memory."""

DEFAULT_LIMITS: Final = {"triggers": 512, "projects": 48}
"""Default limits of the request, by kind."""


def list_curated(sources: Sources, chunking: Chunking, params: CuratedEntriesParams) -> list[CuratedEntry]:
    """Return annotated entries, the most important first (blocking: reads the files)."""
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
        for start, end, text, about in _parts(file.text, path, chunking):
            if _is_wanted(about, params.kind, active):
                entries.append(
                    CuratedEntry(
                        path=path,
                        start_line=start,
                        end_line=end,
                        text=text,
                        importance=about.importance,
                        triggers=list(about.triggers),
                        projects=list(about.projects),
                        mtime_ms=file.mtime_ns // 1_000_000,
                    )
                )
    entries.sort(key=lambda entry: (-(entry.importance or 0), entry.path, entry.start_line))
    return entries[: DEFAULT_LIMITS[params.kind] if params.limit is None else params.limit]


def _parts(text: str, path: str, chunking: Chunking) -> Iterator[tuple[int, int, str, Annotations]]:
    """Yield (first line, last line, text without comments, annotations) of a note's entries, long ones in parts.

    Annotations of a list item apply to all its parts, those of a section to the part that contains them.
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
    projects = set(annotations.projects)
    if annotations.is_invalid or (kind == "triggers" and not annotations.triggers):
        return False
    if kind == "projects":
        return bool(projects) and projects <= (active or set())
    return active is None or projects <= active
