"""The processes that search beside the daemon: there while many ask at once, gone when nobody needs them.

One interpreter works on one core at a time, however many threads it has. While searches have to wait for each other
for a second on end, processes are started that answer them as well, each with its own connections and its own copy of
the vectors, which the budget of vectors counts. An index is asked of a process only once its vectors are in its
memory, so nobody waits for that; whatever goes wrong there, a thread of the daemon answers instead.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final
from weakref import WeakSet

import structlog
import trio

from memd.embedding.local.machine import load_rss_bytes
from memd.index.vectors.cache import MatrixBudget
from memd.search.searchers.copies import Copies
from memd.search.searchers.searcher import Searcher

log = structlog.get_logger(__name__)

KEEP_S: Final = 30.0
"""How long they stay after the last search that had to wait, or that they answered."""

LOOK_S: Final = 5.0
"""How often it is looked whether they are still needed."""

BACK_OFF_S: Final = 60.0
"""How long none is started after one went by itself."""


class Searchers:
    """The processes, and when there are any."""

    def __init__(
        self, most: int, budget: MatrixBudget, pages_bytes: int, cores: int | None = os.cpu_count()
    ) -> None:
        self.most = most
        self.budget = budget
        self.pages_bytes = pages_bytes
        self._cores = cores or 1
        self._wanted = trio.Event()
        self._used_at = 0.0
        self._all_copies: WeakSet[Copies] = WeakSet()
        self._nursery: trio.Nursery | None = None
        self._all: list[Searcher] = []

    def __repr__(self) -> str:
        return f"<Searchers, {len(self.running)} running>"

    @property
    def running(self) -> list[Searcher]:
        """Those that can be asked: a process that is only being started is none yet."""
        return [searcher for searcher in self._all if searcher.pid is not None]

    @property
    def is_running(self) -> bool:
        """Whether there are any processes."""
        return bool(self.running)

    @property
    def has_room(self) -> bool:
        """Whether any of them has a place for another search."""
        return any(searcher.has_place for searcher in self.running)

    @property
    def _is_needed(self) -> bool:
        return trio.current_time() - self._used_at < KEEP_S

    def rss_bytes(self) -> int:
        """Return what the processes take in memory together."""
        return sum(load_rss_bytes(searcher.pid) for searcher in self._all if searcher.pid is not None)

    def call(self) -> None:
        """Have processes, where there are none: searches had to wait for each other for a while."""
        self.note_use()
        self._wanted.set()

    def note_use(self) -> None:
        """Note that the processes are needed."""
        self._used_at = trio.current_time()

    def copies_of(self, index: Path) -> Copies:
        """Return an index as the processes have it."""
        copies = Copies(self, str(index))
        self._all_copies.add(copies)
        return copies

    def start(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do something in the background, while there are processes."""
        if self._nursery is not None:
            self._nursery.start_soon(work)

    async def run(self) -> None:
        """Start processes when they are called for, end them when they aren't needed; until cancelled.

        When a process goes by itself: its searches are answered by threads; the others end too, and none is started
        for `BACK_OFF_S`.
        """
        while True:
            await self._wanted.wait()
            self._wanted = trio.Event()
            count = min(self.most, self._cores)
            if count and self._is_needed:
                await self._serve(count)

    async def _serve(self, count: int) -> None:
        """Have so many processes until they aren't needed any more, or one of them goes."""
        lost = trio.Event()
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            for number in range(count):
                nursery.start_soon(self._one, Searcher(number, self.pages_bytes // count), lost.set)
            log.info("search.processes_started", processes=count)
            while not lost.is_set() and self._is_needed:
                with trio.move_on_after(LOOK_S):
                    await lost.wait()
            was_lost = lost.is_set()
            self._nursery = None
            for searcher in self._all:
                searcher.end()
            nursery.cancel_scope.cancel()
        if was_lost:
            log.warning("search.process_lost", again_after_s=BACK_OFF_S)
            await trio.sleep(BACK_OFF_S)
        else:
            log.info("search.processes_ended")

    async def _one(self, searcher: Searcher, on_lost: Callable[[], None]) -> None:
        """Run one process; it is asked while it runs."""
        try:
            self._all.append(searcher)
            await searcher.run()
        finally:
            self._all.remove(searcher)
            for copies in list(self._all_copies):
                copies.lose(searcher)
            on_lost()
