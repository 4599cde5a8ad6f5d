"""Gives searches priority: indexing yields while a search runs, and few searches run concurrently.

Python runs one thread at a time, so indexing at full speed would slow every search. It pauses between two files, but
only briefly, so that continuous searches don't stop it. The scheduler is below `search` in the layers because the sync
uses it too.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar

import trio

from memd.index.connection import READERS

MAX_YIELD_S = 0.02
"""Longest pause per file: under continuous searches a sync still processes fifty files per second."""

MAX_CONCURRENT_SEARCHES = 2
"""Searches that run concurrently. SQLite and numpy release the GIL for about a third of each, so two have a higher
throughput than one; three have a lower one, because they mostly wait for the GIL."""

SLOT_TIMEOUT_S = 0.03
"""Time after which a search releases its slot, several times its usual duration, so that a slow search on a busy disk
or a huge index doesn't delay others for longer."""

TURNS = 4
"""Of so many slots, one goes to the search that waits longest; the others to the client with the lowest load."""

CLIENT_LOAD: ContextVar[Callable[[], int]] = ContextVar("CLIENT_LOAD", default=lambda: 0)
"""Returns the load of the client that the current task works for; see `Connection.load`."""


class _Ticket:
    """A search in the queue for a slot."""

    def __init__(self, index: object) -> None:
        self.index = index
        self.wake = trio.Event()
        self.is_admitted = False
        self.load = CLIENT_LOAD.get()


class SearchScheduler:
    """Counts running searches and assigns them slots. Shared by all agents."""

    def __init__(self, cores: int | None = os.cpu_count()) -> None:
        self._cores = cores or 1
        self._searches = 0
        self._idle = trio.Event()
        self._idle.set()
        self._queue: list[_Ticket] = []
        self._turn = 0
        self._reading: Counter[object] = Counter()
        self._slots: dict[_Ticket, float] = {}

    def __repr__(self) -> str:
        return f"<SearchScheduler, {self._searches} searches running>"

    @property
    def has_core_to_spare(self) -> bool:
        """Whether only one search is running, and may use a second core."""
        return self._searches == 1 and self._cores > 1

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Make indexing yield inside the `with` block."""
        self._enter()
        try:
            yield
        finally:
            self._leave()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Let indexing continue inside the `with` block, in which a search waits for it."""
        self._leave()
        try:
            yield
        finally:
            self._enter()

    @asynccontextmanager
    async def slot(self, index: object = None) -> AsyncIterator[None]:
        """Occupy one of `MAX_CONCURRENT_SEARCHES` slots, and a reader of an index, inside the `async with` block."""
        ticket = _Ticket(index)
        self._queue.append(ticket)
        try:
            self._admit()
            while not ticket.is_admitted:
                # Only the first in the queue waits for timeouts of slots.
                timeout_at = min(self._slots.values(), default=trio.current_time() + SLOT_TIMEOUT_S)
                with trio.move_on_at(timeout_at if self._queue[0] is ticket else math.inf):
                    await ticket.wake.wait()
                ticket.wake = trio.Event()
                self._admit()
            yield
        finally:
            self._slots.pop(ticket, None)
            if ticket.is_admitted:
                self._reading[index] -= 1
            else:
                self._queue.remove(ticket)
                self._wake_first()
            self._admit()

    def _admit(self) -> None:
        """Assign free and timed-out slots to searches in the queue."""
        now = trio.current_time()
        self._slots = {ticket: until for ticket, until in self._slots.items() if until > now}
        while len(self._slots) < MAX_CONCURRENT_SEARCHES and (
            queue := [each for each in self._queue if self._reading[each.index] < READERS]
        ):
            self._turn += 1
            ticket = min(queue, key=lambda each: each.load()) if self._turn % TURNS else queue[0]
            self._queue.remove(ticket)
            self._reading[ticket.index] += 1
            self._slots[ticket] = now + SLOT_TIMEOUT_S
            ticket.is_admitted = True
            ticket.wake.set()
            self._wake_first()

    def _wake_first(self) -> None:
        """Wake the first in the queue, so that it checks the slots and their timeouts."""
        if self._queue:
            self._queue[0].wake.set()

    def _enter(self) -> None:
        if self._searches == 0:
            self._idle = trio.Event()
        self._searches += 1

    def _leave(self) -> None:
        self._searches -= 1
        if self._searches == 0:
            self._idle.set()

    async def yield_to_searches(self) -> None:
        """Wait until no search is running, at most `MAX_YIELD_S`."""
        with trio.move_on_after(MAX_YIELD_S):
            await self._idle.wait()
