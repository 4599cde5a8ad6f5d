"""Searches first: indexing yields while a search is under way, and few searches run at a time.

Python runs one thread at a time: indexing at full speed would slow every search of every agent. It pauses between two
files instead, but never for long, so that searches without end don't stop it. The scheduler is below `search` in the
layers because the sync asks it.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import trio

MAX_YIELD_S = 0.02
"""How long one file waits for searches: under searches without end a sync still goes through fifty files a second."""

MAX_CONCURRENT_SEARCHES = 2
"""How many searches run at a time. A third of each is SQLite and numpy, which leave Python's lock to the other:
two answer a fifth more queries a second than one; three answer fewer, since they mostly hand the lock on."""

SLOT_TIMEOUT_S = 0.03
"""How long a search occupies its slot: four times what one takes among 15,000 chunks. A slower one, because of a disk
or of very many chunks, delays no other one for longer."""


class _Ticket:
    """A search in the queue for a slot."""

    def __init__(self) -> None:
        self.wake = trio.Event()
        self.is_admitted = False


class SearchScheduler:
    """Counts the searches under way, and gives them slots, first come, first served. One for all agents."""

    def __init__(self, cores: int | None = os.cpu_count()) -> None:
        self._cores = cores or 1
        self._searches = 0
        self._idle = trio.Event()
        self._idle.set()
        self._queue: deque[_Ticket] = deque()
        self._slots: dict[_Ticket, float] = {}

    def __repr__(self) -> str:
        return f"<SearchScheduler, {self._searches} searches under way>"

    @property
    def has_core_to_spare(self) -> bool:
        """Whether the one search under way is alone, and may use a second core."""
        return self._searches == 1 and self._cores > 1

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Have indexing yield inside the `with` block."""
        self._enter()
        try:
            yield
        finally:
            self._leave()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Let indexing go on inside the `with` block of a search that waits for it."""
        self._leave()
        try:
            yield
        finally:
            self._enter()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Be one of at most `MAX_CONCURRENT_SEARCHES` searches inside the `async with` block.

        Many threads hand Python's lock to and fro so often that together they are slower than a few in sequence.
        """
        ticket = _Ticket()
        self._queue.append(ticket)
        try:
            self._admit()
            while not ticket.is_admitted:
                # The first in the queue watches the clock for all.
                timeout_at = min(self._slots.values(), default=trio.current_time() + SLOT_TIMEOUT_S)
                with trio.move_on_at(timeout_at if self._queue[0] is ticket else math.inf):
                    await ticket.wake.wait()
                ticket.wake = trio.Event()
                self._admit()
            yield
        finally:
            self._slots.pop(ticket, None)
            if not ticket.is_admitted:
                self._queue.remove(ticket)
                self._wake_first()
            self._admit()

    def _admit(self) -> None:
        """Give slots to the first in the queue, as far as slots are free or timed out."""
        now = trio.current_time()
        self._slots = {ticket: until for ticket, until in self._slots.items() if until > now}
        while self._queue and len(self._slots) < MAX_CONCURRENT_SEARCHES:
            ticket = self._queue.popleft()
            self._slots[ticket] = now + SLOT_TIMEOUT_S
            ticket.is_admitted = True
            ticket.wake.set()
            self._wake_first()

    def _wake_first(self) -> None:
        """Have the first in the queue look at the slots and their timeouts."""
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
        """Wait until no search is under way, at most `MAX_YIELD_S`."""
        with trio.move_on_after(MAX_YIELD_S):
            await self._idle.wait()
