"""A running watcher, and the hints it gave."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import trio

from memd.sources.agent_sources import SourceLimits, Sources
from memd.sources.watch.watcher import Kind, Watcher, WatchPlan
from memd_client.errors import MemdError

STEP_S = 0.04
"""Shorter than the daemon's, so that tests wait less."""

DEADLINE_S = 120.0
"""Timeout of any wait on a busy machine."""

NO_LIMITS = SourceLimits(1_000_000, 100_000, 10_000_000_000)


class HintRecorder:
    """Records hints. As in a sync, a check of the agent's files follows each."""

    def __init__(self) -> None:
        self.hints: list[tuple[str, Kind]] = []
        self._sources: dict[str, Sources] = {}
        self._more = trio.Event()

    def follow(self, watcher: Watcher, plan: WatchPlan) -> None:
        """Watch an agent, and check its files after each hint."""
        self._sources[plan.agent] = Sources(
            plan.workspace, plan.extra_paths, NO_LIMITS, None, watcher.queue(plan.agent)
        )
        watcher.watch(plan)

    def __call__(self, agent: str, kind: Kind) -> None:
        self.hints.append((agent, kind))
        if agent in self._sources:
            with suppress(MemdError):
                self._sources[agent].find()
        self._more.set()
        self._more = trio.Event()

    async def next(self, agent: str, kind: Kind = "memory") -> list[tuple[str, Kind]]:
        """Wait for a hint given after this call, and return all hints until then."""
        so_far = len(self.hints)
        with trio.fail_after(DEADLINE_S):
            while (agent, kind) not in self.hints[so_far:]:
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
async def run_watcher(*plans: WatchPlan, **options: Any) -> AsyncIterator[tuple[Watcher, HintRecorder]]:
    """Run a watcher of the plans inside the block."""
    heard = HintRecorder()
    watcher = Watcher(heard, clock=lambda: 1_000, **{"step_s": STEP_S, **options})
    try:
        async with trio.open_nursery() as nursery:
            for plan in plans:
                heard.follow(watcher, plan)
            await nursery.start(watcher.run)
            await wait_for_state(
                lambda: {agent for agent, _ in heard.hints} == {plan.agent for plan in plans}
            )
            yield watcher, heard
            nursery.cancel_scope.cancel()
    finally:
        watcher.close()
