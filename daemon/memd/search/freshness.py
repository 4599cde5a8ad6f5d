"""Freshness of a search: one disk check, shared by concurrent searches, and a bounded catch-up."""

from __future__ import annotations

import math
from collections.abc import Callable
from time import perf_counter

import trio
from msgspec import Struct
from msgspec.structs import replace

from memd.index.connection import READERS
from memd.search.hit_check import check_against, check_by_name
from memd.settings.agents import AgentConfig
from memd.sources.source import Listing
from memd.sync.text.changes import Changes, count_behind
from memd.sync.text.text_sync import TextSync
from memd.vector_search.agent_vectors import VectorSearchManager
from memd_client.errors import MemdError
from memd_client.messages import Hit

VECTOR_WAIT_S = 0.04
"""How long a search without a deadline waits for new vectors. Keyword search finds new text without them."""

FIRST_VECTORS_WAIT_S = 1.5
"""How long the first search without a strong hit waits while no vector is stored: the model is being loaded."""

SEARCH_TIME_SHARE = 0.2
"""Share of a request's deadline that is reserved for the search after the catch-up."""


class DiskView(Struct, frozen=True):
    """The state of the disk as one search knows it.

    Attributes:
        disk: The files on disk; None if the disk can't be read.
        behind: Differences between the files and the index, or None.
        is_partial: Whether changed files are not indexed yet, or the deadline ended the wait for vectors.
        error: Why the disk can't be read or the index can't be written, or None.
        took_ms: Milliseconds of the disk check.
    """

    disk: Listing | None = None
    behind: Changes | None = None
    is_partial: bool = False
    error: MemdError | None = None
    took_ms: float = 0.0


class FreshnessCheck:
    """Compares the disk with the index before each search of one agent and indexes changed files."""

    def __init__(
        self,
        config: AgentConfig,
        text: TextSync,
        vectors: VectorSearchManager,
        catch_up_s: Callable[[], float],
    ) -> None:
        self._config = config
        self._text = text
        self._vectors = vectors
        self._catch_up_s = catch_up_s
        self._threads = trio.CapacityLimiter(READERS)
        self._has_waited = False
        self._last_look: tuple[float, Listing] | None = None

    async def look(self, arrived_at: float) -> DiskView:
        """Check the disk, or share a check that began after the query arrived.

        Args:
            arrived_at: When the query arrived, by `perf_counter`. A check that began later sees all earlier writes.
        """
        return await trio.to_thread.run_sync(
            self._look, arrived_at, limiter=self._threads, abandon_on_cancel=True
        )

    def _look(self, arrived_at: float) -> DiskView:
        started = perf_counter()
        last = self._last_look
        try:
            if last is not None and last[0] >= arrived_at:
                disk, behind = last[1], self._text.still_behind(last[1])
            else:
                disk, behind = self._text.scan()
                self._last_look = (started, disk)
        except MemdError as error:
            return DiskView(error=error, took_ms=(perf_counter() - started) * 1000)
        return DiskView(disk, behind or None, took_ms=(perf_counter() - started) * 1000)

    async def catch_up(self, view: DiskView, budget_s: float, *, with_vectors: bool) -> DiskView:
        """Index changed files within the time a search may spend; return what is still missing.

        Args:
            view: The result of `look`.
            budget_s: The time of the whole request; infinite without a deadline.
            with_vectors: Whether to wait for the vectors of a few new chunks, unless the provider is failing.
        """
        assert view.disk is not None
        assert view.behind is not None
        has_deadline = budget_s < math.inf  # a client that sets a deadline accepts waiting for it
        wait_s = budget_s * (1 - SEARCH_TIME_SHARE) if has_deadline else self._catch_up_s()
        until = trio.current_time() + wait_s
        try:
            behind = await self._text.catch_up(view.disk, view.behind, wait_s, patient=has_deadline) or None
        except MemdError as error:  # a read-only index still answers; its hits are checked against the disk
            return replace(view, error=error)
        is_partial = behind is not None and count_behind(behind, self._text.rows) > 0
        if with_vectors:
            if not has_deadline:
                until = min(until, trio.current_time() + VECTOR_WAIT_S)
            is_cut = await self._wait_for_vectors(until)
            is_partial = is_partial or (is_cut and has_deadline)
        return replace(view, behind=behind, is_partial=is_partial)

    async def wait_for_first_vectors(self, until: float) -> None:
        """Wait until a small memory has vectors: once per start, because the provider may hang."""
        if not self._has_waited:
            self._has_waited = True
            await self._wait_for_vectors(
                until if until < math.inf else trio.current_time() + FIRST_VECTORS_WAIT_S
            )

    async def _wait_for_vectors(self, until: float) -> bool:
        """Wait for the vectors of a few new chunks, unless the provider is failing; return whether time ran out."""
        fill = self._vectors.fill if self._vectors.is_followed else None
        if fill is None or not fill.pending or fill.health.degraded is not None:
            return False
        if fill.needs_s() > until - trio.current_time():
            return False
        with trio.move_on_at(until) as waiting:
            await fill.settle()
        return waiting.cancelled_caught

    def check(self, view: DiskView) -> Callable[[Hit], bool]:
        """Return a check whether a hit's text is still on disk (blocking: may read files)."""
        if view.disk is None:
            return check_by_name(str(self._config.workspace))
        return check_against(view.disk, view.behind, self._text.sources.load)
