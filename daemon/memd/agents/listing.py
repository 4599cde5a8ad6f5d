"""Lists and reads an agent's files as they are on disk."""

from __future__ import annotations

from datetime import UTC, datetime

import trio

from memd.agents.open_agent import OpenAgent
from memd.index.connection import IndexFile
from memd.index.files import ListedFile, list_files
from memd.settings.agents import AgentConfig
from memd.sources.read import refusal_of
from memd.sources.rules import name_in
from memd.sources.source import Listing, SourceFile
from memd.sync.text.text_sync import TextSync
from memd.text.lines import lines_of
from memd.text.query.dates import day_of_note
from memd_client.messages import FileEntry, FilesParams, FilesReply, GetParams, GetReply


async def list_memory(agent: str, text: TextSync, index: IndexFile, params: FilesParams) -> FilesReply:
    """Return one page of an agent's files."""
    disk, _ = await text.scan_in_thread()
    refused = {each.path for each in text.reasons}
    found = await trio.to_thread.run_sync(_newest_first, disk, refused, set(params.sources or ()))
    page = found[params.offset : params.offset + params.limit]
    paths = [each.path for each in page]
    known = await index.read(lambda db: list_files(db, paths))
    rows = [_row(each, known.get(each.path, ListedFile())) for each in page]
    return FilesReply(agent, rows, len(found), text.excluded(disk))


def read_note(config: AgentConfig, opened: OpenAgent, params: GetParams) -> GetReply:
    """Return lines of a note (blocking)."""
    disk = opened.sources.find_notes()
    workspace, path = str(config.workspace), params.path
    found = disk.files.get(path)
    if found is None:
        path = name_in(workspace, path)
        found = disk.files.get(path)
    if found is None:
        raise refusal_of(path, disk, workspace)
    file = opened.sources.load(found)
    text, count, total, truncated = lines_of(file.text, params.from_line, params.lines)
    return GetReply(config.id, path, text, max(1, params.from_line), count, total, truncated)


def _newest_first(disk: Listing, refused: set[str], sources: set[str]) -> list[SourceFile]:
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
