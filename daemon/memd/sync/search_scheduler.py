"""Searches go first: indexing steps aside while somebody waits for an answer.

Python runs one thread at a time, and this machine's cores are few: a sync that goes on at full speed would
make every search of every agent slower. It stops between two files instead, though never for long, so that
searches without end don't keep it from its work.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import islice
from typing import Final, Protocol

import trio

LONGEST_STOP_S = 0.02
"""How long one file may be held up: with searches back to back a sync still goes through fifty files a second."""


MAX_CONCURRENT_SEARCHES = 2
"""How many searches work at a time. A third of each is SQLite and sums of bytes, which leave Python's lock to another
one: two answer a fifth more questions a second than one; three answer fewer, since they mostly hand the lock on."""

TURN_S = 0.03
"""How long a search keeps its turn: four times what one takes among 15,000 chunks. One that is held up, by a disk or by
very many chunks, holds up nobody else for longer."""


CROWD_WAIT_S = 0.015
CROWD_S = 1.0
"""Searches crowd when each has waited so long for its turn, for so long on end: a burst passes sooner."""

LOOK_AHEAD = 8
"""How far from the head of the line it is looked who can go elsewhere."""


LONG_WAIT_S = 1.0
"""How long a search waits for a place elsewhere before it is done here all the same: what answers there may hang."""


class Elsewhere(Protocol):
    """Where else searches can be answered than by threads of this process."""

    @property
    def is_running(self) -> bool:
        """Whether any can be."""

    @property
    def has_room(self) -> bool:
        """Whether another one can be now."""

    def call(self) -> None:
        """Take over that they crowd here."""


class Place(Protocol):
    """A place for one search elsewhere."""

    def take(self) -> bool:
        """Take it, where one is free now, and return whether one was."""

    def comes_up(self) -> bool:
        """Return whether one will be free in a while, where none is now."""

    def leave(self) -> None:
        """Leave it to the next search, where it was taken."""


class _Nowhere:
    """No place elsewhere."""

    def take(self) -> bool:
        """Return that none is free."""
        return False

    def comes_up(self) -> bool:
        """Return that none will be."""
        return False

    def leave(self) -> None:
        """Do nothing."""


class _Ticket:
    """A place in the line of searches."""

    def __init__(self, place: Place) -> None:
        self.came = trio.current_time()
        self.place = place
        self.wake = trio.Event()
        self.is_called = False


NOWHERE: Final = _Nowhere()


class SearchScheduler:
    """Who is searching, for those who index, and whose turn it is among those who search. One for all agents."""

    def __init__(self, elsewhere: Elsewhere | None = None, cores: int | None = os.cpu_count()) -> None:
        self._elsewhere = elsewhere
        self._cores = cores or 1
        self._crowded_since: float | None = None
        self._searches = 0
        self._clear = trio.Event()
        self._clear.set()
        self._line: deque[_Ticket] = deque()
        self._holders: dict[_Ticket, float] = {}
        self._away: set[_Ticket] = set()

    def __repr__(self) -> str:
        return f"<RightOfWay, {self._searches} searches under way>"

    @property
    def has_core_to_spare(self) -> bool:
        """Whether the one search under way is alone, and may have a second core."""
        return self._searches == 1 and self._cores > 1

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
    async def turn(self, place: Place = NOWHERE) -> AsyncIterator[None]:
        """Work in a thread, one of `MAX_CONCURRENT_SEARCHES` searches at most, inside the `async with` block.

        Threads that need Python's lock all the time pass it to and fro so often that many together are slower than a
        few after the other, and take half as much of the processor again. First come, first served.
        """
        mine = _Ticket(place)
        self._line.append(mine)
        try:
            self._hand_over()
            while not mine.is_called:
                # Whoever is next watches the clock for all.
                look_again = min(self._holders.values(), default=trio.current_time() + TURN_S)
                with trio.move_on_at(look_again if self._line[0] is mine else math.inf):
                    await mine.wake.wait()
                mine.wake = trio.Event()
                self._hand_over()
            yield
        finally:
            self._holders.pop(mine, None)
            if mine in self._away:
                self._away.remove(mine)
                place.leave()
            if not mine.is_called:
                self._line.remove(mine)
                self._tell_first()
            self._hand_over()

    def _hand_over(self) -> None:
        """Give turns to whoever is next, as far as nobody has them or whoever does takes too long."""
        now = trio.current_time()
        self._holders = {ticket: until for ticket, until in self._holders.items() if until > now}
        if self._elsewhere is not None and self._elsewhere.is_running:
            self._share_out(self._elsewhere, now)
            return
        while self._line and len(self._holders) < MAX_CONCURRENT_SEARCHES:
            self._begin_here(self._line[0], now)

    def _share_out(self, elsewhere: Elsewhere, now: float) -> None:
        """Send searches elsewhere: this process hears and answers everybody, for which it needs its interpreter.

        A search is done here where it is the only one, can't be done there, or waits too long; then one at a time.
        """
        is_alone = len(self._line) == 1 and not self._holders and not self._away
        for ticket in list(islice(self._line, LOOK_AHEAD)):
            if not is_alone and elsewhere.has_room and ticket.place.take():
                self._away.add(ticket)
                self._call(ticket, now)
            elif not self._holders and (is_alone or self._is_for_here(ticket, now)):
                self._begin_here(ticket, now)

    def _is_for_here(self, ticket: _Ticket, now: float) -> bool:
        """Return whether a search has nothing to expect elsewhere."""
        return not ticket.place.comes_up() or now - ticket.came > LONG_WAIT_S

    def _begin_here(self, ticket: _Ticket, now: float) -> None:
        """Give a turn."""
        self._holders[ticket] = now + TURN_S
        self._call(ticket, now)

    def _call(self, ticket: _Ticket, now: float) -> None:
        """Have a search begin that is in line."""
        self._line.remove(ticket)
        ticket.is_called = True
        ticket.wake.set()
        self._tell_first()
        if now - ticket.came < CROWD_WAIT_S:
            self._crowded_since = None
        elif self._crowded_since is None:
            self._crowded_since = now
        elif self._elsewhere is not None and now - self._crowded_since >= CROWD_S:
            self._elsewhere.call()

    def _tell_first(self) -> None:
        """Have whoever is next look who has turns, and until when."""
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

    async def yield_to_searches(self) -> None:
        """Wait until nobody searches, or for as long as one may be asked to."""
        with trio.move_on_after(LONGEST_STOP_S):
            await self._clear.wait()
