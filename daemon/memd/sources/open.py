"""Opens the sources of an agent: its memory, its conversations with OpenClaw, and what its settings add."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

from memd.git.authors import Authors
from memd.programs.catalog import KNOWN_SOURCES, OPENCLAW_SOURCE, PROGRAMS, Places
from memd.programs.program import FileReader
from memd.programs.readers import find_places, reader_of
from memd.settings.agents import AgentConfig
from memd.settings.sources import SourceConfig
from memd.sources.agent_sources import AgentSources
from memd.sources.capacity import SourceLimits
from memd.sources.conversations import ConversationFiles
from memd.sources.databases import ConversationDatabases
from memd.sources.exclusions import NOTHING_EXCLUDED, Exclusions
from memd.sources.forgotten import ForgottenOf
from memd.sources.notes import NotesSource, WorkspaceNotes, trees_of
from memd.sources.notes_folders import find_notes_folders, notes_at
from memd.sources.openclaw import OpenClawConversations
from memd.sources.retained import RetainedConversations, RetainedCopies, RetainedLimits
from memd.sources.source import MEMORY, Source
from memd.sources.watch.queue import UNWATCHED, Unwatched
from memd.system.clock import Clock
from memd.text.forgotten import NOTHING_FORGOTTEN

RETAINED = "memory/kept"
"""Folder of retained copies in the state directory."""


WatchOf: TypeAlias = Callable[[str, str], Unwatched]
"""Returns what reports changes of a source, or of a part of it (empty for the whole)."""


class OpenedSource(NamedTuple):
    """A source that the settings add, and the folders or databases that it reads."""

    source: Source
    locations: tuple[Path, ...]


def unwatched(_source: str, _part: str) -> Unwatched:
    """Return what reports nothing: each scan lists all folders."""
    return UNWATCHED


def open_sources(
    config: AgentConfig,
    state_dir: Path,
    places: Places,
    limits: SourceLimits,
    clock: Clock,
    watch_of: WatchOf = unwatched,
    exclusions: Exclusions = NOTHING_EXCLUDED,
    forgotten: ForgottenOf = lambda: NOTHING_FORGOTTEN,
) -> tuple[AgentSources, dict[str, OpenedSource]]:
    """Return an agent's sources, and those of them that the settings add, by name; nothing is read yet."""
    added: dict[str, OpenedSource] = {}

    def opened() -> Iterator[Source]:
        """Yield the sources in the order of their precedence."""
        notes = WorkspaceNotes(
            config.workspace, config.settings.extra_paths, limits.file_bytes, watch_of(MEMORY, "")
        )
        notes.state_database = str(state_dir / "state" / "openclaw.sqlite")
        yield notes
        if OPENCLAW_SOURCE in config.settings.sources:
            watches = watch_of(OPENCLAW_SOURCE, ""), watch_of(OPENCLAW_SOURCE, "database")
            yield OpenClawConversations(
                state_dir, config.id, limits.file_bytes, watches, with_work=config.settings.work
            )
        for each in config.sources:
            found = open_source(each, places, limits.file_bytes, watch_of(each.name, ""))
            if each.keep and each.kind == "transcripts":
                copies = RetainedCopies(
                    state_dir / RETAINED / config.id / each.name,
                    RetainedLimits(each.keep_days, each.keep_mb),
                    clock,
                )
                found = found._replace(
                    source=RetainedConversations(found.source, copies, exclusions, forgotten)
                )
            added[each.name] = found
            yield found.source

    sources = AgentSources(opened(), limits, exclusions, forgotten)
    sources.authors = Authors(str(config.workspace), f"{state_dir}/memory/remotes/{config.id}.git")
    return sources, added


def open_source(
    config: SourceConfig, places: Places, max_bytes: int, watch: Unwatched = UNWATCHED
) -> OpenedSource:
    """Open a source that the settings add, as it is on disk; nothing is read yet.

    Args:
        config: The source.
        places: The folders of programs.
        max_bytes: Limit of a note.
        watch: Reports changed folders; without it each scan lists all folders.
    """
    if config.kind == "notes":
        folders = (
            [notes_at(config.path, config.program)]
            if config.path is not None
            else find_notes_folders(config.program, places)
        )
        known = KNOWN_SOURCES.get(config.program)
        by_agents = known.program.notes.by_agents if known is not None and known.program.notes else "(?!)"
        trees = trees_of(config.name, folders, max_bytes)
        notes = NotesSource(config.name, trees, max_bytes, watch, by_agents)
        return OpenedSource(notes, tuple(folder.root for folder in folders))
    conversations = PROGRAMS[config.program].conversations
    assert conversations is not None
    reader = reader_of(conversations)
    paths = [config.path] if config.path is not None else find_places(conversations, places)
    source: Source
    if isinstance(reader, FileReader):
        # Projects that were found one by one are not searched, a folder of projects is.
        source = ConversationFiles(
            config.name,
            reader,
            paths,
            with_subagents=config.subagents,
            with_work=config.work,
            watch=watch,
            is_walked=config.path is not None or not conversations.finds_places,
        )
    else:
        source = ConversationDatabases(
            config.name, reader, paths, with_subagents=config.subagents, with_work=config.work, watch=watch
        )
    return OpenedSource(source, tuple(paths))


def known_configs() -> list[SourceConfig]:
    """Return every source that its program keeps on this machine, in the program's own folder."""
    return [
        SourceConfig(name, name, known.kind, None)
        for name, known in KNOWN_SOURCES.items()
        if not known.export
    ]
