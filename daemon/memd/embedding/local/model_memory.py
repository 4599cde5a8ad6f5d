"""The RAM that models share: which may be loaded together, and which are evicted. Decides; loads nothing."""

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
"""A model without work for this long has no more texts coming: between two of a batch it is idle for an instant."""

MIN_RESIDENCY_QUERY_SECONDS: Final = 1.0
MIN_RESIDENCY_TEXT_SECONDS: Final = 20.0
"""How long a model that has texts to embed stays loaded at least, if a query or a text waits for another one. Loading
takes a second or so, and must not be most of what is done."""

MIN_LOOK_SECONDS: Final = 0.01


@dataclass(frozen=True, slots=True)
class Residency:
    """A model in RAM and what it is doing. Times are of trio's clock, in seconds."""

    bytes: int
    since: float
    last_used: float
    work: Work
    is_evicted: bool = False


@dataclass(frozen=True, slots=True)
class Admission:
    """Whether a model may be loaded now; otherwise which others (by position) to evict, and when to look again."""

    is_admitted: bool = False
    evicted: tuple[int, ...] = ()
    look_again_s: float = math.inf


def decide_admission(
    need: int, budget: int, loaded: Sequence[Residency], kind: Kind, now: float
) -> Admission:
    """Return whether a model that work of this kind waits for may be loaded.

    A model is evicted only if all evictions together free enough. Idle models go before busy ones, the least
    recently used first.
    """
    if not loaded or need + sum(each.bytes for each in loaded) <= budget:
        return Admission(is_admitted=True)
    left = {place: each.bytes for place, each in enumerate(loaded) if not each.is_evicted}
    order = sorted(left, key=lambda place: (loaded[place].work != "nothing", loaded[place].last_used))
    evicted: list[int] = []
    for place in order:
        if not left or need + sum(left.values()) <= budget:
            break
        if _evictable_at(loaded[place], kind) <= now:
            evicted.append(place)
            del left[place]
    if not left or need + sum(left.values()) <= budget:
        return Admission(evicted=tuple(evicted))
    soonest = min(_evictable_at(loaded[place], kind) for place in left)
    return Admission(look_again_s=max(MIN_LOOK_SECONDS, soonest - now))


def _evictable_at(loaded: Residency, kind: Kind) -> float:
    """Return from when on a model may be evicted for one that work of this kind waits for."""
    if loaded.work == "nothing":
        return loaded.last_used + (0.0 if kind == "query" else QUIET_SECONDS)
    if loaded.work == "text":
        return loaded.since + (MIN_RESIDENCY_QUERY_SECONDS if kind == "query" else MIN_RESIDENCY_TEXT_SECONDS)
    return math.inf


class Loadable(Protocol):
    """A model, as `ModelMemoryManager` sees it."""

    def residency(self, need: int) -> Residency:
        """What it is doing; `need` is what it asked for."""

    def waits_for(self) -> Kind | None:
        """What waits for it, the most urgent; None for nothing."""

    def evict(self) -> None:
        """End its process as soon as the text under way is done; `ModelMemoryManager.release` follows."""


class ModelMemoryManager:
    """Admits models within a budget: those with a query waiting first, otherwise in the order they came."""

    def __init__(self, budget_bytes: int) -> None:
        self.budget_bytes = budget_bytes
        self._loaded: dict[Loadable, int] = {}
        self._waiting: list[Loadable] = []
        self._changed = trio.Event()

    def __repr__(self) -> str:
        used = size(sum(self._loaded.values()))
        return f"<ModelMemoryManager {used} of {size(self.budget_bytes)}, {len(self._waiting)} waiting>"

    async def admit(self, model: Loadable, need_bytes: int) -> bool:
        """Wait until a model may be loaded; False if nothing waits for it any more.

        `release` must follow for an admitted model.

        Cancellation: it leaves the queue.
        """
        self._waiting.append(model)
        try:
            while (kind := model.waits_for()) is not None:
                admission = Admission()
                if self._first() is model:
                    others = list(self._loaded)
                    loaded = [each.residency(self._loaded[each]) for each in others]
                    now = trio.current_time()
                    admission = decide_admission(need_bytes, self.budget_bytes, loaded, kind, now)
                    if admission.is_admitted:
                        self._loaded[model] = need_bytes
                        return True
                    for place in admission.evicted:
                        others[place].evict()
                changed = self._changed
                with trio.move_on_after(admission.look_again_s):
                    await changed.wait()
            return False
        finally:
            self._waiting.remove(model)
            self.changed()

    def release(self, model: Loadable) -> None:
        """Take a model off the budget, if it is on it."""
        self._loaded.pop(model, None)
        self.changed()

    def changed(self) -> None:
        """Have waiting models look again, since the work of one changed."""
        if self._waiting:
            self._changed.set()
            self._changed = trio.Event()

    def _first(self) -> Loadable:
        return next((model for model in self._waiting if model.waits_for() == "query"), self._waiting[0])
