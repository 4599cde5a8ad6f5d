"""A running watcher, and the hints it gave."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trio

from memd.programs.openclaw import READER
from memd.programs.openclaw_database import OpenClawAgentDatabase
from memd.settings.schema import ExtraPath
from memd.sources.agent_sources import AgentSources
from memd.sources.capacity import SourceLimits
from memd.sources.conversations import ConversationFiles
from memd.sources.databases import ConversationDatabases
from memd.sources.notes import NotesFolder, NotesSource, WorkspaceNotes, trees_of
from memd.sources.source import MEMORY, Source
from memd.sources.watch.queue import Hint, Unwatched
from memd.sources.watch.watcher import Listings, Mechanism, Watcher
from memd_client.errors import MemdError

STEP_S = 0.04
"""Shorter than the daemon's, so that tests wait less."""

DEADLINE_S = 120.0
"""Timeout of any wait on a busy machine."""

NO_LIMITS = SourceLimits(1_000_000, 100_000, 10_000_000_000)


OpenSource = Callable[[str, Unwatched], Source]
"""Opens a source by its name, with what reports its changes."""


@dataclass(frozen=True)
class WatchedAgent:
    """An agent: its id, its workspace and extra paths, and its further sources by name."""

    id: str
    workspace: Path
    extra_paths: tuple[ExtraPath, ...] = ()
    added: Mapping[str, OpenSource] = field(default_factory=dict)

    def open(self, watch_of: Callable[[str], Unwatched]) -> AgentSources:
        """Open the agent's sources, each with what reports its changes."""
        notes = WorkspaceNotes(self.workspace, self.extra_paths, NO_LIMITS.file_bytes, watch_of(MEMORY))
        added = [open_source(name, watch_of(name)) for name, open_source in self.added.items()]
        return AgentSources([notes, *added], NO_LIMITS)


def vault_at(folder: Path) -> OpenSource:
    """Return how a folder of Markdown is opened."""

    def open_vault(name: str, watch: Unwatched) -> Source:
        trees = trees_of(name, [NotesFolder(folder)], NO_LIMITS.file_bytes)
        return NotesSource(name, trees, NO_LIMITS.file_bytes, watch)

    return open_vault


def transcripts_at(folder: Path) -> OpenSource:
    """Return how a folder of OpenClaw's transcripts is opened."""
    return lambda name, watch: ConversationFiles(name, READER, [folder], watch=watch)


def database_at(path: Path) -> OpenSource:
    """Return how OpenClaw's database is opened."""
    return lambda name, watch: ConversationDatabases(
        name, lambda path: OpenClawAgentDatabase(path, NO_LIMITS.file_bytes), [path], watch=watch
    )


class QueueClock:
    """A clock that a test advances."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def watcher_by(now: Callable[[], float], **options: Any) -> Watcher:
    """Return a watcher that hints nothing."""
    return Watcher(lambda *_: None, clock=lambda: 1, now=now, **options)


def list_all(sources: AgentSources) -> Listings:
    """Return what an agent's sources list now, by name."""
    sources.find()
    return sources.listings.copy()


class HintRecorder:
    """Records hints. As in a sync, a check of the agent's files follows each."""

    def __init__(self) -> None:
        self.hints: list[Hint] = []
        self._sources: dict[str, AgentSources] = {}
        self._more = trio.Event()

    def follow(self, watcher: Watcher, agent: WatchedAgent) -> None:
        """Watch an agent, and check its files after each hint."""
        if agent.id in self._sources:
            self._sources[agent.id].close()
        sources = agent.open(lambda name: watcher.queue(agent.id, name))
        self._sources[agent.id] = sources
        watcher.watch(agent.id, lambda: list_all(sources))

    def __call__(self, agent: str, source: str) -> None:
        self.hints.append((agent, source))
        if agent in self._sources:
            with suppress(MemdError):
                self._sources[agent].find()
        self._more.set()
        self._more = trio.Event()

    async def next(self, agent: str, source: str = MEMORY) -> list[Hint]:
        """Wait for a hint given after this call, and return all hints until then."""
        so_far = len(self.hints)
        with trio.fail_after(DEADLINE_S):
            while (agent, source) not in self.hints[so_far:]:
                await self._more.wait()
        return self.hints[so_far:]


def workspace_at(root: Path, *folders: str) -> Path:
    """Return a workspace with a memory folder, and further folders below it."""
    for folder in ("memory", *(f"memory/{name}" for name in folders)):
        (root / folder).mkdir(parents=True, exist_ok=True)
    return root


async def wait_for_state(state: Callable[[], bool], deadline_s: float = DEADLINE_S) -> None:
    """Wait for a state."""
    with trio.fail_after(deadline_s):
        while not state():  # noqa: ASYNC110 - threads and the file system send no event
            await trio.sleep(0.01)


def count_watched(watcher: Watcher) -> int:
    """Return how many folders are watched."""
    return int(repr(watcher).rpartition(", ")[2].split()[0])


def watched_below(watcher: Watcher, root: Path) -> list[str]:
    """Return the watched folders relative to a root."""
    queues = watcher._events.folders.values()
    paths = {interest.path for each in queues for interests in each.values() for interest in interests}
    return sorted(os.path.relpath(path, root) for path in paths)


@asynccontextmanager
async def run_watcher(*agents: WatchedAgent, **options: Any) -> AsyncIterator[tuple[Watcher, HintRecorder]]:
    """Run a watcher of the agents inside the block."""
    heard = HintRecorder()
    watcher = Watcher(heard, clock=lambda: 1_000, **{"step_s": STEP_S, **options})
    try:
        async with trio.open_nursery() as nursery:
            for agent in agents:
                heard.follow(watcher, agent)
            await nursery.start(watcher.run)
            await wait_for_state(lambda: {hint[0] for hint in heard.hints} == {agent.id for agent in agents})
            yield watcher, heard
            nursery.cancel_scope.cancel()
    finally:
        watcher.close()


@asynccontextmanager
async def watching_by(
    mechanism: Mechanism, *agents: WatchedAgent, **options: Any
) -> AsyncIterator[tuple[Watcher, HintRecorder]]:
    """Run a watcher that uses one mechanism, and polls often."""
    async with run_watcher(*agents, **{"mechanism": mechanism, "poll_s": 0.05, **options}) as (
        watcher,
        heard,
    ):
        yield watcher, heard


async def is_followed(folder: Path, heard: HintRecorder) -> None:
    """Assert that changes in a folder are detected, and not by a watch that is about to end."""
    for text in ("one", "two", "three!"):
        (folder / "one-more.md").write_text(text)
        await heard.next("ann")


async def is_followed_soon(folder: Path, heard: HintRecorder) -> None:
    """Assert that changes in a folder are detected soon: it may be watched only after the last hint."""
    so_far = len(heard.hints)
    number = 0
    with trio.fail_after(120):
        while len(heard.hints) == so_far:
            (folder / f"{number}.md").write_text("x")
            number += 1
            await trio.sleep(0.1)
    await is_followed(folder, heard)
