"""Decides admission and eviction of models within a RAM budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

import trio

from memd.embedding.local.jobs import JobKind
from memd.system.units import size

Activity = Literal["nothing", "text", "query", "loading"]

IDLE_BEFORE_EVICTION_SECONDS: Final = 0.5
"""A model counts as idle after this time without work: between texts of a batch it is idle for an instant."""

MIN_RESIDENCY_QUERY_SECONDS: Final = 1.0
MIN_RESIDENCY_TEXT_SECONDS: Final = 20.0
"""How long a model with texts to embed stays loaded at least, if a query or a text waits for another model. Loading
takes about a second, and models must not spend most time on it."""

MIN_RECHECK_SECONDS: Final = 0.01


@dataclass(frozen=True, slots=True)
class Residency:
    """A model in RAM and its work. Times are of trio's clock, in seconds."""

    bytes: int
    since: float
    last_used: float
    work: Activity
    is_evicted: bool = False


@dataclass(frozen=True, slots=True)
class ModelAdmission:
    """Whether to load a model; else the positions to evict, and when to recheck."""

    is_admitted: bool = False
    evicted: tuple[int, ...] = ()
    recheck_s: float = math.inf


def decide_admission(
    need_bytes: int, budget: int, loaded: Sequence[Residency], kind: JobKind, now: float
) -> ModelAdmission:
    """Return whether a model may be loaded for a job of this kind.

    Models are evicted only if that frees enough RAM: idle ones before busy ones, the least recently used first.
    """
    if not loaded or need_bytes + sum(each.bytes for each in loaded) <= budget:
        return ModelAdmission(is_admitted=True)
    left = {position: each.bytes for position, each in enumerate(loaded) if not each.is_evicted}
    order = sorted(
        left, key=lambda position: (loaded[position].work != "nothing", loaded[position].last_used)
    )
    evicted: list[int] = []
    for position in order:
        if not left or need_bytes + sum(left.values()) <= budget:
            break
        if _evictable_at(loaded[position], kind) <= now:
            evicted.append(position)
            del left[position]
    if not left or need_bytes + sum(left.values()) <= budget:
        return ModelAdmission(evicted=tuple(evicted))
    soonest = min(_evictable_at(loaded[position], kind) for position in left)
    return ModelAdmission(recheck_s=max(MIN_RECHECK_SECONDS, soonest - now))


def _evictable_at(loaded: Residency, kind: JobKind) -> float:
    """Return the time from which a model may be evicted for a job of this kind."""
    if loaded.work == "nothing":
        return loaded.last_used + (0.0 if kind == "query" else IDLE_BEFORE_EVICTION_SECONDS)
    if loaded.work == "text":
        return loaded.since + (MIN_RESIDENCY_QUERY_SECONDS if kind == "query" else MIN_RESIDENCY_TEXT_SECONDS)
    return math.inf


class Loadable(Protocol):
    """A model that `ModelMemoryManager` can load and evict."""

    def residency(self, need_bytes: int) -> Residency:
        """Return its work and `need_bytes`, the RAM it was admitted with."""

    def waiting_kind(self) -> JobKind | None:
        """Return the kind of the most urgent waiting job, None without one."""

    def evict(self) -> None:
        """Request the end of its process after the current text."""


class ModelMemoryManager:
    """Admits models within a RAM budget, those with waiting queries first."""

    def __init__(self, budget_bytes: int) -> None:
        self.budget_bytes = budget_bytes
        self._loaded: dict[Loadable, int] = {}
        self._waiting: list[Loadable] = []
        self._changed = trio.Event()

    def __repr__(self) -> str:
        used = size(sum(self._loaded.values()))
        return f"<ModelMemoryManager {used} of {size(self.budget_bytes)}, {len(self._waiting)} waiting>"

    async def admit(self, model: Loadable, need_bytes: int) -> bool:
        """Wait until a model may be loaded; False if no job waits for it any more.

        An admitted model must be released with `release`.
        """
        self._waiting.append(model)
        try:
            while (kind := model.waiting_kind()) is not None:
                admission = ModelAdmission()
                if self._first() is model:
                    others = list(self._loaded)
                    loaded = [each.residency(self._loaded[each]) for each in others]
                    now = trio.current_time()
                    admission = decide_admission(need_bytes, self.budget_bytes, loaded, kind, now)
                    if admission.is_admitted:
                        self._loaded[model] = need_bytes
                        return True
                    for position in admission.evicted:
                        others[position].evict()
                changed = self._changed
                with trio.move_on_after(admission.recheck_s):
                    await changed.wait()
            return False
        finally:
            self._waiting.remove(model)
            self.changed()

    def release(self, model: Loadable) -> None:
        """Remove a model from the budget; idempotent."""
        self._loaded.pop(model, None)
        self.changed()

    def changed(self) -> None:
        """Check waiting models again, because the work of a model changed."""
        if self._waiting:
            self._changed.set()
            self._changed = trio.Event()

    def _first(self) -> Loadable:
        return next((model for model in self._waiting if model.waiting_kind() == "query"), self._waiting[0])
