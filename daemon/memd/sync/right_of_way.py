"""Searches go first: indexing steps aside while somebody waits for an answer.

Python runs one thread at a time, and this machine's cores are few: a sync that goes on at full speed would
make every search of every agent slower. It stops between two files instead, though never for long, so that
searches without end don't keep it from its work.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import trio

LONGEST_STOP_S = 0.02
"""How long one file may be held up: with searches back to back a sync still goes through fifty files a second."""


class RightOfWay:
    """Who is searching, for those who index. One for all agents."""

    def __init__(self) -> None:
        self._searches = 0
        self._clear = trio.Event()
        self._clear.set()

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
