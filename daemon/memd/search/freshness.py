"""What a search knows of the disk: one look at the files, shared by concurrent searches, and a bounded catch-up."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter

import trio

from memd.settings.agents import AgentConfig
from memd.sync.disk.changes import Changes, count_behind
from memd.sync.disk.discover import Discovery
from memd.sync.disk.verify import check_against, check_by_name
from memd.sync.text.text_sync import TextSync
from memd.vector_search.agent_vectors import VectorSearchManager
from memd_client.errors import MemdError
from memd_client.messages import Hit

VECTOR_WAIT_S = 0.04
"""How long a search without a deadline waits for new vectors: keywords find the new text already."""

FIND_SHARE = 0.2
"""Share of a request's deadline that is kept for finding what the catch-up brought in."""


@dataclass(frozen=True, slots=True)
class DiskView:
    """What one search knows of the disk.

    Attributes:
        disk: The files there are; None if the disk can't be read.
        behind: How the index differs from them, if it does.
        is_partial: Whether a catch-up ended before all changes were in.
        error: Why the disk can't be read or the index can't be written, or None.
        took_ms: What looking took.
    """

    disk: Discovery | None = None
    behind: Changes | None = None
    is_partial: bool = False
    error: MemdError | None = None
    took_ms: float = 0.0


class FreshnessCheck:
    """Compares the disk with the index before each search of one agent, and brings changed files in."""

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
        self._last_look: tuple[float, Discovery] | None = None

    def look(self, asked_at: float) -> DiskView:
        """Look at the disk (blocking), or share a look that began after a query came.

        Args:
            asked_at: When the query came, by `perf_counter`. A look that began later sees all that was written before.
        """
        started = perf_counter()
        last = self._last_look
        try:
            if last is not None and last[0] >= asked_at:
                disk, behind = last[1], self._text.still_behind(last[1])
            else:
                disk, behind = self._text.see()
                self._last_look = (started, disk)
        except MemdError as error:
            return DiskView(error=error, took_ms=(perf_counter() - started) * 1000)
        return DiskView(disk, behind or None, took_ms=(perf_counter() - started) * 1000)

    def has_to_catch_up(self, view: DiskView) -> bool:
        """Return whether changed files are brought in before the search."""
        return view.behind is not None and self._config.settings.sync.on_search

    async def catch_up(self, view: DiskView, budget_s: float, *, with_vectors: bool) -> DiskView:
        """Bring changed files in, within the time a search may spend; return what is still behind.

        Args:
            view: What a look saw.
            budget_s: The request's whole time; infinite if it has no deadline.
            with_vectors: Whether to wait for the vectors of a few new texts, unless the provider is failing.
        """
        assert view.disk is not None
        assert view.behind is not None
        has_deadline = budget_s < math.inf  # a client that sets one is ready to wait for it
        wait_s = budget_s * (1 - FIND_SHARE) if has_deadline else self._catch_up_s()
        until = trio.current_time() + wait_s
        try:
            behind = await self._text.catch_up(view.disk, view.behind, wait_s, patient=has_deadline) or None
        except MemdError as error:  # an index that can't be written still answers; its hits are checked
            return replace(view, error=error)
        is_partial = behind is not None and count_behind(behind, self._text.rows) > 0
        fill = self._vectors.fill if self._vectors.is_followed else None
        if with_vectors and fill is not None and fill.pending and fill.health.degraded is None:
            if not has_deadline:
                until = min(until, trio.current_time() + VECTOR_WAIT_S)
            if fill.needs_s() <= until - trio.current_time():
                with trio.move_on_at(until) as waiting:
                    await fill.settle()
                is_partial = is_partial or waiting.cancelled_caught
        return replace(view, behind=behind, is_partial=is_partial)

    def check(self, view: DiskView) -> Callable[[Hit], bool]:
        """Return a check whether a hit's text is still on disk (blocking: it may read files)."""
        if view.disk is None:
            return check_by_name(str(self._config.workspace))
        return check_against(view.disk, view.behind, self._text.sources.load)
