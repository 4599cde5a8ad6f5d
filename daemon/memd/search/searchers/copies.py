"""One index in the processes that hold it: which can be asked, and what each has to be told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol

from memd.index.vectors.cache import MatrixBudget
from memd.search.query import Found, Question
from memd.search.searchers.searcher import Searcher, SearcherGoneError
from memd.system.metrics import METER


class Processes(Protocol):
    """The processes there are."""

    @property
    def running(self) -> Sequence[Searcher]:
        """Those that can be asked."""

    @property
    def budget(self) -> MatrixBudget:
        """What vectors may take in memory, everywhere together."""

    def note_use(self) -> None:
        """Note that the processes are needed."""

    def start(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do something in the background, while there are processes."""


class Copies:
    """One index in the processes that hold it."""

    def __init__(self, pool: Processes, index: str) -> None:
        self._pool = pool
        self.index = index
        self._copies: dict[Searcher, _Copy] = {}

    def __repr__(self) -> str:
        return f"<Copies of {self.index} in {len(self._copies)} processes>"

    def take(self, space_id: str, size_bytes: int) -> Searcher | None:
        """Return a process that can search the index now, with a place taken there: the caller's to `give_back`.

        Processes that don't hold the index are told to.
        """
        ready = []
        for searcher in self._pool.running:
            copy = self._copies.get(searcher)
            if copy is None:
                copy = self._copies[searcher] = _Copy(self, searcher, space_id)
                self._pool.start(partial(self._hold, copy, size_bytes))
            elif copy.is_ready and copy.space_id == space_id and searcher.has_place:
                ready.append(searcher)
        if not ready:
            return None
        self._pool.note_use()
        chosen = min(ready, key=lambda searcher: searcher.in_flight)
        chosen.in_flight += 1
        return chosen

    def is_held(self, space_id: str) -> bool:
        """Return whether any process holds the index, with the vectors of a space."""
        return any(copy.is_ready and copy.space_id == space_id for copy in self._copies.values())

    async def _hold(self, copy: _Copy, size_bytes: int) -> None:
        """Have a process bring the index's vectors into memory, where the budget has room for them."""
        is_wanted = self._copies.get(copy.searcher) is copy  # not where the index was closed meanwhile
        if is_wanted and self._pool.budget.admit_beside(copy, size_bytes):
            try:
                await copy.searcher.hold(self.index, copy.space_id)
                copy.is_ready = True
            except SearcherGoneError:
                self._pool.budget.release(copy)
                self._copies.setdefault(copy.searcher, copy)  # so that it isn't tried again and again

    def changed(
        self, space_id: str, gone: Sequence[int], come: Sequence[int], text: tuple[int, str] | None = None
    ) -> None:
        """Take over that a commit took vectors out of use, and brought others into it, or changed a text."""
        for searcher, copy in self._copies.items():
            if copy.space_id == space_id:
                searcher.change(self.index, space_id, gone, come, text)

    def drop(self) -> None:
        """Have every process close the index."""
        for copy in list(self._copies.values()):
            self._pool.budget.release(copy)

    def lose(self, searcher: Searcher) -> None:
        """Take over that a process is gone."""
        copy = self._copies.get(searcher)
        if copy is not None:
            self._pool.budget.release(copy)

    def leave_out(self, copy: _Copy) -> None:
        """Take over that a process holds the index no more."""
        self._copies.pop(copy.searcher, None)


class _Copy:
    """An index's vectors in a process's memory, as the budget knows them."""

    def __init__(self, copies: Copies, searcher: Searcher, space_id: str) -> None:
        self._copies = copies
        self.searcher = searcher
        self.space_id = space_id
        self.is_ready = False

    def drop(self) -> None:
        """Give the memory back."""
        self.is_ready = False
        self.searcher.forget(self._copies.index)
        self._copies.leave_out(self)


class Seat:
    """A place for one search in another process, where there is one when its turn comes."""

    def __init__(self, copies: Copies | None, space_id: str, size_bytes: int) -> None:
        self._copies = copies
        self._space_id = space_id
        self._size_bytes = size_bytes
        self._searcher: Searcher | None = None

    def __repr__(self) -> str:
        return f"<Seat in {self._searcher}>"

    @property
    def is_taken(self) -> bool:
        """Whether there is a place."""
        return self._searcher is not None

    def take(self) -> bool:
        """Take a place, where one is free, and return whether one was."""
        if self._copies is not None:
            self._searcher = self._copies.take(self._space_id, self._size_bytes)
        return self.is_taken

    def comes_up(self) -> bool:
        """Return whether a process holds the index, and so will have a place."""
        return self._copies is not None and self._copies.is_held(self._space_id)

    def leave(self) -> None:
        """Leave the place, where one was taken, to the next search."""
        if self._searcher is not None:
            self._searcher.give_back()
            self._searcher = None

    async def find(self, question: Question) -> Found | None:
        """Return what the process finds, or None where it can't."""
        if self._searcher is None or self._copies is None:
            return None
        try:
            found = await self._searcher.find(self._copies.index, question)
        except SearcherGoneError:
            return None
        METER.count("memd_searches_in_processes_total")
        return found
