"""The memory that models share: who may be loaded beside whom, and who makes room. Decides; loads nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

import trio

from memd.embedding.local.jobs import Kind
from memd.system.units import size

Work = Literal["nothing", "text", "query", "loading"]

QUIET_SECONDS: Final = 0.5
"""A model without work for this long has no more texts coming: between two of one batch it is idle for an instant."""

QUERY_STAY_SECONDS: Final = 1.0
TURN_SECONDS: Final = 20.0
"""How long a model that has texts to embed keeps its place at least: from one whose query waits, from one that has
texts to embed too. Loading takes a second or so, and must not be most of what is done."""

MIN_LOOK_SECONDS: Final = 0.01


@dataclass(frozen=True, slots=True)
class Residency:
    """A model in memory and what it is doing. Times are of trio's clock, in seconds."""

    bytes: int
    since: float
    last_used: float
    work: Work
    is_leaving: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a model that wants in: it may enter, or these (by position) are asked to leave, and else
    it is looked at again after so long."""

    enters: bool = False
    leave: tuple[int, ...] = ()
    look_again_s: float = math.inf


def judge(need: int, budget: int, stays: Sequence[Residency], kind: Kind, now: float) -> Verdict:
    """Return whether a model may be loaded, or who is to make room for it.

    Nobody is asked to leave in vain: only where all that leave make room enough. Idle ones go before busy ones,
    the least recently used first.
    """
    if not stays or need + sum(stay.bytes for stay in stays) <= budget:
        return Verdict(enters=True)
    left = {place: stay.bytes for place, stay in enumerate(stays) if not stay.is_leaving}
    order = sorted(left, key=lambda place: (stays[place].work != "nothing", stays[place].last_used))
    leave: list[int] = []
    for place in order:
        if not left or need + sum(left.values()) <= budget:
            break
        if _may_leave_at(stays[place], kind) <= now:
            leave.append(place)
            del left[place]
    if not left or need + sum(left.values()) <= budget:
        return Verdict(leave=tuple(leave))
    soonest = min(_may_leave_at(stays[place], kind) for place in left)
    return Verdict(look_again_s=max(MIN_LOOK_SECONDS, soonest - now))


def _may_leave_at(stay: Residency, kind: Kind) -> float:
    """Return from when on a model may be asked to leave for one that something of this kind waits for."""
    if stay.work == "nothing":
        return stay.last_used + (0.0 if kind == "query" else QUIET_SECONDS)
    if stay.work == "text":
        return stay.since + (QUERY_STAY_SECONDS if kind == "query" else TURN_SECONDS)
    return math.inf


class Loadable(Protocol):
    """A model, as its room sees it."""

    def stay(self, need: int) -> Residency:
        """What it does; `need` is what it asked for."""

    def waits_for(self) -> Kind | None:
        """What waits for it, the most urgent; None where nothing does."""

    def make_room(self) -> None:
        """Have its process ended as soon as the text under way is done; `ModelMemoryManager.leave` follows."""


class ModelMemoryManager:
    """Lets models in within a budget: those with a query waiting first, else in the order they came."""

    def __init__(self, budget_bytes: int) -> None:
        self.budget_bytes = budget_bytes
        self._guests: dict[Loadable, int] = {}
        self._line: list[Loadable] = []
        self._changed = trio.Event()

    def __repr__(self) -> str:
        taken = sum(self._guests.values())
        return f"<ModelRoom {size(taken)} of {size(self.budget_bytes)}, {len(self._line)} waiting>"

    async def enter(self, guest: Loadable, need_bytes: int) -> bool:
        """Wait until a model may be loaded; False where nothing waits for it any more.

        A model that entered must `leave`.

        Cancellation: it leaves the line.
        """
        self._line.append(guest)
        try:
            while (kind := guest.waits_for()) is not None:
                verdict = Verdict()
                if self._first() is guest:
                    guests = list(self._guests)
                    stays = [each.stay(self._guests[each]) for each in guests]
                    verdict = judge(need_bytes, self.budget_bytes, stays, kind, trio.current_time())
                    if verdict.enters:
                        self._guests[guest] = need_bytes
                        return True
                    for place in verdict.leave:
                        guests[place].make_room()
                changed = self._changed
                with trio.move_on_after(verdict.look_again_s):
                    await changed.wait()
            return False
        finally:
            self._line.remove(guest)
            self.changed()

    def leave(self, guest: Loadable) -> None:
        """Give a place back; without one nothing happens."""
        self._guests.pop(guest, None)
        self.changed()

    def changed(self) -> None:
        """Have those who wait look again: somebody's work changed."""
        if self._line:
            self._changed.set()
            self._changed = trio.Event()

    def _first(self) -> Loadable:
        """Return who is next."""
        return next((guest for guest in self._line if guest.waits_for() == "query"), self._line[0])
