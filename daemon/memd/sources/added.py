"""The sources of other programs that an agent's settings add, opened for reading in place."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from memd.programs.catalog import DATABASE_PROGRAMS, FILE_PROGRAMS
from memd.programs.program import Places
from memd.settings.known_sources import KNOWN_SOURCES
from memd.settings.sources import SourceConfig
from memd.sources.conversations import FileTranscripts
from memd.sources.databases import DatabaseTranscripts
from memd.sources.notes import NotesSource
from memd.sources.notes_folders import find_notes_folders, notes_at
from memd.sources.retained import KeptCopies, KeptLimits, KeptTranscripts
from memd.sources.source import SessionSource
from memd.sources.watch.queue import WatchQueue
from memd.system.clock import Clock, wall_clock_ms

QueueOf = Callable[[str], WatchQueue]
"""Returns a new queue for a folder of a source, by a name that is unique in the agent."""


class AddedSource(NamedTuple):
    """A source of an agent, opened."""

    config: SourceConfig
    store: SessionSource
    locations: tuple[Path, ...]
    kept: KeptTranscripts | None = None


def open_source(
    config: SourceConfig,
    places: Places,
    max_file_bytes: int,
    queue_of: QueueOf | None = None,
    copies_in: Path | None = None,
    clock: Clock = wall_clock_ms,
) -> AddedSource:
    """Open a source; nothing is read yet.

    Args:
        config: The source.
        places: The folders of programs.
        max_file_bytes: Limit of a note.
        queue_of: Returns queues of changed folders; without one each scan lists all folders.
        copies_in: The folder of the agent's kept copies; None keeps none.
        clock: The wall time.
    """
    source = _open(config, places, max_file_bytes, queue_of)
    if not config.keep or config.kind != "transcripts" or copies_in is None:
        return source
    copies = KeptCopies(copies_in / config.name, KeptLimits(config.keep_days, config.keep_mb), clock)
    kept = KeptTranscripts(config.name, source.store, copies)
    return source._replace(store=kept, kept=kept)


def _open(config: SourceConfig, places: Places, max_file_bytes: int, queue_of: QueueOf | None) -> AddedSource:
    """Open a source as it is on disk."""
    if config.kind == "notes":
        folders = (
            [notes_at(config.path, config.program)]
            if config.path is not None
            else find_notes_folders(config.program, places)
        )
        queues = _queues(config.name, len(folders), queue_of)
        store = NotesSource(config.name, folders, max_file_bytes, queues)
        return AddedSource(config, store, tuple(folder.root for folder in folders))
    if config.program in DATABASE_PROGRAMS:
        database = DATABASE_PROGRAMS[config.program]
        paths = [config.path] if config.path is not None else list(database.databases(places))
        databases = DatabaseTranscripts(config.name, database, paths, with_subagents=config.subagents)
        return AddedSource(config, databases, tuple(paths))
    program = FILE_PROGRAMS[config.program]
    roots = [config.path] if config.path is not None else list(program.folders(places))
    files = FileTranscripts(
        config.name,
        program,
        roots,
        with_subagents=config.subagents,
        queues=_queues(config.name, len(roots), queue_of),
    )
    return AddedSource(config, files, tuple(roots))


def how_to_open(program: str, session_id: str, folder: str = "") -> str:
    """Return the command that opens a session in its program, from any folder; empty without one."""
    found = FILE_PROGRAMS.get(program) or DATABASE_PROGRAMS.get(program)
    command = found.how_to_open(session_id) if found is not None else ""
    if not command or not folder.startswith("/"):
        return command
    home, below, rest = folder.partition(os.path.expanduser("~/"))
    place = f"~/{shlex.quote(rest)}" if below and not home and rest else shlex.quote(folder)
    return f"cd {place} && {command}"


def known_configs() -> list[SourceConfig]:
    """Return every known source in its program's own folder."""
    return [SourceConfig(name, name, known.kind, None) for name, known in KNOWN_SOURCES.items()]


def _queues(name: str, count: int, queue_of: QueueOf | None) -> list[WatchQueue]:
    """Return a queue for each folder of a source."""
    return [queue_of(f"{name}/{number}") for number in range(count)] if queue_of is not None else []
