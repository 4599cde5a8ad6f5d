"""One job at a batch API from its first look to its results: how often to look, when to stop it, what to keep."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Final

import structlog
import trio

from memd.embedding.numbers import clamped_count
from memd.embedding.remote.bulk.api import BulkApi, BulkResults, BulkState, of_these
from memd.embedding.remote.bulk.jobs import JobRecord
from memd.system.clock import Clock
from memd_client.errors import (
    ProviderAuthError,
    ProviderFailedError,
    ProviderRateLimitedError,
    TokenBudgetError,
)

log = structlog.get_logger(__name__)

GROWTH: Final = 1.5
LONGEST_POLL_S: Final = 60.0
"""A job that doesn't move is looked at less and less often, but once a minute."""

CANCEL_MS: Final = 10 * 60_000
"""How long a cancelled job may take to put together what it has: OpenAI says so."""

COLLECT_TRIES: Final = 5
"""Tries to get the results of a job that ended; they are paid for."""


@dataclass(slots=True)
class Job:
    """A job under way. Times are epoch milliseconds; `ending` says why it was cancelled.

    `stop_ms` is when its patience of `most_ms` ends.
    """

    record: JobRecord
    stop_ms: int
    most_ms: int
    state: BulkState = field(default_factory=lambda: BulkState("running", 0, 0))
    ending: str = ""


class JobWatch:
    """Watches jobs until they end, however they do."""

    def __init__(
        self, api: BulkApi, clock: Clock, pause: Callable[[float], Awaitable[None]], *, poll_s: float
    ) -> None:
        self._api = api
        self._clock = clock
        self._pause = pause
        self._poll_s = poll_s
        self._naps: set[trio.CancelScope] = set()
        self._in_a_hurry = False

    def __repr__(self) -> str:
        return f"<JobWatch {self._api.provider}, {len(self._naps)} jobs watched>"

    def hurry(self) -> None:
        """Have every job ended now, and what it did so far collected: the batch API is given up."""
        self._in_a_hurry = True
        for nap in self._naps:
            nap.cancel()

    async def results_of(self, job: Job, *, is_new: bool = False) -> BulkResults:
        """Watch a job until it has ended or was cut short; return what came of each of its texts."""
        await self._await_end(job, is_new)
        return await self._collect(job)

    async def _await_end(self, job: Job, is_new: bool) -> None:
        """Watch a job until it has ended, or is cut short."""
        wait_s = self._poll_s
        if is_new:
            await self._nap(wait_s)
        while True:
            done = job.state.done
            job.state = await self._look(job)
            if job.state.state != "running":
                return
            now_ms = self._clock()
            # A wall clock that was set back must not make the wait longer than it was meant to be.
            job.stop_ms = min(job.stop_ms, now_ms + job.most_ms)
            if job.ending and (self._in_a_hurry or now_ms >= job.stop_ms):
                return
            if not job.ending and (self._in_a_hurry or now_ms >= job.stop_ms):
                await self._cancel(job, now_ms)
                continue
            moved = job.state.done > done
            wait_s = self._poll_s if moved else min(wait_s * GROWTH, max(LONGEST_POLL_S, self._poll_s))
            await self._nap(max(wait_s, self._api.retry_in_s()), until_ms=job.stop_ms)

    async def _look(self, job: Job) -> BulkState:
        """Return how far a job is. One that can't be asked for just now goes on: its deadline ends it."""
        texts = len(job.record.hashes)
        try:
            state = await self._api.look(job.record.id)
            return replace(state, done=clamped_count(state.done, texts), total=texts)
        except ProviderFailedError as error:
            if isinstance(error, ProviderAuthError) and not is_pause(error):
                return BulkState("failed", job.state.done, job.state.total, error.wire_code)
            log.debug("embedding.job_call_failed", provider=self._api.provider, code=error.wire_code)
            return job.state

    async def _cancel(self, job: Job, now_ms: int) -> None:
        """Ask for the end of a job that is given up, or that takes too long."""
        job.ending = "the batch API was given up" if self._in_a_hurry else "it took too long"
        job.most_ms = 0 if self._in_a_hurry else CANCEL_MS
        job.stop_ms = now_ms + job.most_ms
        try:
            await self._api.cancel(job.record.id)
        except ProviderFailedError as error:  # it may have ended meanwhile; the next look shows it
            log.debug("embedding.job_call_failed", provider=self._api.provider, code=error.wire_code)

    async def _collect(self, job: Job) -> BulkResults:
        """Return what came of a job's texts."""
        hashes = job.record.hashes
        for attempt in range(COLLECT_TRIES):
            try:
                return of_these(await self._api.results(job.record.id, hashes), hashes)
            except ProviderFailedError as error:
                log.debug("embedding.job_call_failed", provider=self._api.provider, code=error.wire_code)
                if isinstance(error, ProviderAuthError) and not is_pause(error):
                    break
            if self._in_a_hurry:
                break
            await self._nap(max(self._poll_s * 2.0**attempt, self._api.retry_in_s()))
        job.ending = job.ending or "its results can't be had"
        return of_these(BulkResults(), hashes)

    async def _nap(self, seconds: float, until_ms: int | None = None) -> None:
        """Sleep, but not beyond a time, and no longer than until the batch API is given up."""
        if self._in_a_hurry:
            return
        if until_ms is not None:
            seconds = min(seconds, max(self._poll_s, (until_ms - self._clock()) / 1000))
        with trio.CancelScope() as nap:
            self._naps.add(nap)
            try:
                await self._pause(seconds)
            finally:
                self._naps.discard(nap)


def is_pause(error: ProviderFailedError) -> bool:
    """Return whether it isn't the batch API that failed: the account is paused, or its tokens are used up."""
    return "retry_after_s" in error.data or isinstance(error, ProviderRateLimitedError | TokenBudgetError)
