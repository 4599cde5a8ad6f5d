"""The files an agent's memory consists of, as the disk has them now, newest first."""

from __future__ import annotations

from datetime import UTC, datetime

import trio

from memd.index.connection import IndexFile
from memd.index.listed import ListedFile, list_files
from memd.sync.disk.discover import Discovery, Found
from memd.sync.text.text_sync import TextSync
from memd.text.query.dates import day_of_note
from memd_client.messages import FileRow, FilesParams, FilesReply

NOT_INDEXED = ListedFile(0, "")
"""What is known of a file that wasn't read yet."""


async def list_memory(agent: str, text: TextSync, index: IndexFile, params: FilesParams) -> FilesReply:
    """Return a page of the list of an agent's files."""
    disk, _ = await text.look()
    refused = {each.path for each in text.reasons}
    found = await trio.to_thread.run_sync(_newest_first, disk, refused, set(params.sources or ()))
    page = found[params.offset : params.offset + params.limit]
    paths = [each.path for each in page]
    known = await index.read(lambda db: list_files(db, paths))
    rows = [_row(each, known.get(each.path, NOT_INDEXED)) for each in page]
    return FilesReply(agent, rows, len(found), text.left_out(disk))


def _newest_first(disk: Discovery, refused: set[str], sources: set[str]) -> list[Found]:
    """Return the files of some sources (of all where none are named) that aren't refused, in their order."""
    files = (each for each in disk.files.values() if each.path not in refused)
    found = [each for each in files if not sources or each.source in sources]
    return sorted(found, key=_newness, reverse=True)


def _newness(found: Found) -> tuple[str, int, str]:
    """Return what the newest file has most of: the day it is about, else that of its last change; then that change."""
    about = day_of_note(found.path)
    try:
        day = about or datetime.fromtimestamp(found.mtime_ns // 1_000_000_000, UTC).date()
    except (ValueError, OverflowError, OSError):  # a clock that was far off
        return "", found.mtime_ns, found.path
    return day.isoformat(), found.mtime_ns, found.path


def _row(found: Found, known: ListedFile) -> FileRow:
    """Return a file as replies carry it."""
    about = day_of_note(found.path)
    return FileRow(
        path=found.path,
        source=found.source,
        mtime_ms=found.mtime_ns // 1_000_000,
        size_bytes=found.size,
        chunks=known.chunks,
        title=known.title,
        date=None if about is None else about.isoformat(),
    )
