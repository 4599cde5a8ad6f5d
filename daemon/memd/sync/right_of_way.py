"""Searches go first: indexing steps aside while somebody waits for an answer.

Python runs one thread at a time, and this machine's cores are few: a sync that goes on at full speed would
make every search of every agent slower. It stops between two files instead, though never for long, so that
searches without end don't keep it from its work.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import trio

LONGEST_STOP_S = 0.02
"""How long one file may be held up: with searches back to back a sync still goes through fifty files a second."""


TURN_S = 0.03
"""How long a search has its turn alone: three times what one takes among 15,000 chunks. One that is held up, by a
disk or by very many chunks, holds up nobody else for longer."""


class _Ticket:
    """A place in the line of searches."""

    def __init__(self) -> None:
        self.wake = trio.Event()
        self.is_called = False


class RightOfWay:
    """Who is searching, for those who index, and whose turn it is among those who search. One for all agents."""

    def __init__(self) -> None:
        self._searches = 0
        self._clear = trio.Event()
        self._clear.set()
        self._line: deque[_Ticket] = deque()
        self._holder: _Ticket | None = None
        self._until = 0.0

    def __repr__(self) -> str:
        return f"<RightOfWay, {self._searches} searches under way>"

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Have the right of way inside the `with` block."""
        self._enter()
        try:
            yield
        finally:
            self._leave()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Give the right of way up inside the `with` block of a search that waits for a sync itself."""
        self._leave()
        try:
            yield
        finally:
            self._enter()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Work in a thread, alone among searches, inside the `async with` block.

        Two threads that need Python's lock all the time pass it to and fro so often that together they are no faster
        than one after the other, and take half as much of the processor again. First come, first served.
        """
        mine = _Ticket()
        self._line.append(mine)
        try:
            self._hand_over()
            while not mine.is_called:
                # Whoever is next watches the clock for all.
                with trio.move_on_at(self._until if self._line[0] is mine else math.inf):
                    await mine.wake.wait()
                mine.wake = trio.Event()
                self._hand_over()
            yield
        finally:
            if self._holder is mine:
                self._holder = None
            elif not mine.is_called:
                self._line.remove(mine)
            self._hand_over()

    def _hand_over(self) -> None:
        """Give the turn to whoever is next, where nobody has it or whoever does takes too long."""
        now = trio.current_time()
        if self._line and (self._holder is None or now >= self._until):
            self._holder = self._line.popleft()
            self._until = now + TURN_S
            self._holder.is_called = True
            self._holder.wake.set()
            if self._line:
                self._line[0].wake.set()

    def _enter(self) -> None:
        if self._searches == 0:
            self._clear = trio.Event()
        self._searches += 1

    def _leave(self) -> None:
        self._searches -= 1
        if self._searches == 0:
            self._clear.set()

    async def step_aside(self) -> None:
        """Wait until nobody searches, or for as long as one may be asked to."""
        with trio.move_on_after(LONGEST_STOP_S):
            await self._clear.wait()
