"""Jobs at a batch API, from the texts to the vectors: submitted, put down, watched, collected, forgotten."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import structlog
import trio

from memd.clock import Clock
from memd.config import Batch
from memd.embedding.bulk.api import BulkApi, BulkResults, BulkState, of_these
from memd.embedding.bulk.jobs import JobRecord, JobStore, pieces
from memd.embedding.retry import named_pause_s
from memd_client.errors import (
    MemdError,
    ProviderAuthError,
    ProviderFailedError,
    ProviderRateLimitedError,
    TokenBudgetError,
)
from memd_client.reports import BulkJob

log = structlog.get_logger(__name__)

FAILURES: Final = 2
"""Failures in a row after which plain requests do the work."""

GROWTH: Final = 1.5
LONGEST_POLL_S: Final = 60.0
"""A job that doesn't move is looked at less and less often, but once a minute."""

CANCEL_MS: Final = 10 * 60_000
"""How long a cancelled job may take to put together what it has: OpenAI says so."""

COLLECT_TRIES: Final = 5
"""Tries to get the results of a job that ended; they are paid for."""

HOLD_S: Final = 60.0
"""How long no job is made after the provider asked for a pause and didn't say how long."""

SAVE_S: Final = 10.0
"""How long a record may take to be written when everything else is cancelled already."""

Item = tuple[str, str]
"""A text and its hash, the hash first."""


@dataclass(slots=True)
class _Job:
    """A job under way. Times are epoch milliseconds; `ending` says why it was cancelled."""

    record: JobRecord
    stop_ms: int
    state: BulkState = field(default_factory=lambda: BulkState("running", 0, 0))
    ending: str = ""


class BulkRun:
    """Jobs of one agent and one vector space.

    `gave_up` is set for good after two failures in a row: `embed` does nothing then.

    Args:
        api: The provider's batch API.
        settings: `remote.batch`.
        store: Where jobs outlive the daemon; it must hold jobs of this run alone.
        space: The id of the vector space.
        clock: Wall time.
        pause: Sleeps for some seconds.
        on_results: Takes what came of a job. It may be given the same results twice, when the daemon ends in between;
            it must check their size against what the space holds. `failed` texts are free again, and best done
            by plain requests.
    """

    def __init__(
        self,
        api: BulkApi,
        settings: Batch,
        store: JobStore,
        *,
        space: str,
        clock: Clock,
        on_results: Callable[[BulkResults], Awaitable[None]],
        pause: Callable[[float], Awaitable[None]] = trio.sleep,
    ) -> None:
        self._api = api
        self._settings = settings
        self._store = store
        self._space = space
        self._clock = clock
        self._pause = pause
        self._on_results = on_results
        self._poll_s = max(0.05, settings.poll_interval_ms / 1000)
        self._timeout_ms = settings.timeout_minutes * 60_000
        self._jobs: dict[str, _Job] = {}
        self._leaving: set[str] = set()
        self._failures = 0
        self._held_until_ms = 0
        self._is_resumed = False
        self._one_at_a_time = trio.Lock()
        self._saving = trio.Lock()
        self._naps: set[trio.CancelScope] = set()
        self.gave_up = False

    def __repr__(self) -> str:
        state = "gave up" if self.gave_up else f"{len(self._jobs)} jobs, {self._failures} failures in a row"
        return f"<BulkRun {self._api.provider} {state}>"

    @property
    def may_submit(self) -> bool:
        """Whether a job may be made now; not while the account is paused, or after its tokens were used up."""
        is_held = self._api.retry_in_s() > 0 or self._clock() < self._held_until_ms
        return self._settings.enabled and not self.gave_up and not is_held

    def in_flight(self) -> set[str]:
        """Return the hashes of texts that are on their way: nobody else should embed them."""
        return self._leaving.union(*(job.record.hashes for job in self._jobs.values()))

    def status(self) -> list[BulkJob]:
        """Return the jobs under way, oldest first."""
        return [
            BulkJob(
                id=job.record.id,
                state="cancelling" if job.ending else job.state.state,
                texts=len(job.record.hashes),
                done=job.state.done,
                submitted_ms=job.record.submitted_ms,
            )
            for job in sorted(self._jobs.values(), key=lambda job: job.record.submitted_ms)
        ]

    async def resume(self) -> None:
        """Take up the jobs an earlier daemon left. `embed` does it by itself; a second time does nothing.

        Those of another space, provider or key can't be collected here: they are dropped.

        Raises:
            MemdError: The store failed.
        """
        if self._is_resumed:
            return
        records = await self._store.load()
        self._is_resumed = True
        for record in records:
            if (record.provider, record.space, record.account) == (
                self._api.provider,
                self._space,
                self._api.owner,
            ):
                self._add(record)
        if len(self._jobs) < len(records):
            dropped = len(records) - len(self._jobs)
            log.warning("embedding.jobs_dropped", provider=self._api.provider, jobs=dropped)
            await self._save()

    async def embed(self, items: Sequence[Item]) -> None:
        """Have texts embedded, and hand the results on as jobs end.

        Returns when all these jobs and all earlier ones have ended, or when the batch API was given up. A text may
        be left without a result: because its job failed, because it can't be submitted now, or because it is too
        big for a job. Whether anybody waits for this (`remote.batch.wait`) is the caller's business.

        Args:
            items: (hash, text); those under way already are left out.

        Raises:
            MemdError: From the store or `on_results`. A provider's failures are counted instead.

        Cancellation: may be cancelled anywhere. Jobs at the provider go on, and the next call or the next daemon
        collects them.
        """
        async with self._one_at_a_time:
            await self.resume()
            jobs = deque(self._jobs.values())
            waiting: deque[list[Item]] = deque()
            if self.may_submit:
                waiting.extend(await self._pieces(items))
            error: MemdError | None = None
            try:
                async with trio.open_nursery() as nursery:
                    for _ in range(min(max(1, self._settings.concurrency), len(jobs) + len(waiting))):
                        nursery.start_soon(self._work, jobs, waiting)
            except* MemdError as group:
                error = _first(group)
            if error is not None:
                raise error

    async def _pieces(self, items: Sequence[Item]) -> list[list[Item]]:
        taken, api = self.in_flight(), self._api
        return await trio.to_thread.run_sync(
            lambda: pieces(items, taken=taken, max_texts=api.max_texts, max_bytes=api.max_bytes),
            limiter=trio.CapacityLimiter(1),
        )

    async def _work(self, jobs: deque[_Job], waiting: deque[list[Item]]) -> None:
        """Do one job after the other, earlier ones first, as long as there are any."""
        while jobs:
            await self._follow(jobs.popleft())
        while waiting:
            job = await self._submit(waiting.popleft())
            if job is None:
                waiting.clear()
            else:
                await self._follow(job, is_new=True)

    # --- a job's beginning --------------------------------------------------------------------------

    async def _submit(self, piece: list[Item]) -> _Job | None:
        """Make a job of some texts; return None where none can be made now."""
        hashes = tuple(digest for digest, _ in piece)
        if not self.may_submit:
            return None
        self._leaving.update(hashes)
        try:
            job_id = await self._api.submit(piece)
            # No checkpoint in between: an id that is forgotten is a job paid for in vain.
            job = self._add(
                JobRecord(job_id, self._api.provider, self._space, self._api.owner, hashes, self._clock())
            )
        except ProviderFailedError as error:
            log.warning(
                "embedding.job_not_submitted",
                provider=self._api.provider,
                texts=len(hashes),
                code=error.wire_code,
                error=error.message,
            )
            if _is_pause(error):
                self._held_until_ms = self._clock() + round(1000 * (named_pause_s(error) or HOLD_S))
            else:
                self._failed(error.wire_code)
            return None
        finally:
            self._leaving.difference_update(hashes)
        await self._save()
        log.info("embedding.job_submitted", provider=self._api.provider, job=job_id, texts=len(hashes))
        return job

    def _add(self, record: JobRecord) -> _Job:
        job = _Job(record, record.submitted_ms + self._timeout_ms)
        self._jobs[record.id] = job
        return job

    async def _save(self) -> None:
        """Put down which jobs there are; also when everything is being cancelled."""
        with trio.CancelScope(shield=True, deadline=trio.current_time() + SAVE_S):
            async with self._saving:  # in turn, so that an older list never replaces a newer one
                await self._store.save([job.record for job in self._jobs.values()])

    # --- a job's end --------------------------------------------------------------------------------

    async def _follow(self, job: _Job, *, is_new: bool = False) -> None:
        """Watch a job until it ends, and hand on what came of it."""
        await self._await_end(job, is_new)
        results = await self._collect(job)
        await self._on_results(results)
        record, state = job.record, job.state
        del self._jobs[record.id]
        await self._save()
        answered = 2 * len(results.failed) <= len(record.hashes)
        went_well = state.state == "done" and not job.ending and answered
        reason = "" if went_well else job.ending or state.reason or "most of its texts failed"
        log.info(
            "embedding.job_ended",
            provider=record.provider,
            job=record.id,
            texts=len(record.hashes),
            vectors=len(results.vectors),
            refused=len(results.refused),
            failed=len(results.failed),
            reason=reason,
        )
        if went_well:
            self._failures = 0
        else:
            self._failed(reason)
        await self._api.clean_up(record.id)

    async def _await_end(self, job: _Job, is_new: bool) -> None:
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
            if job.ending and now_ms >= job.stop_ms:
                return
            if not job.ending and (self.gave_up or now_ms >= job.stop_ms):
                await self._cancel(job, now_ms)
                continue
            moved = job.state.done > done
            wait_s = self._poll_s if moved else min(wait_s * GROWTH, max(LONGEST_POLL_S, self._poll_s))
            await self._nap(max(wait_s, self._api.retry_in_s()), until_ms=job.stop_ms)

    async def _look(self, job: _Job) -> BulkState:
        """Return how far a job is. One that can't be asked for just now goes on: its deadline ends it."""
        try:
            return await self._api.look(job.record.id)
        except ProviderFailedError as error:
            if isinstance(error, ProviderAuthError) and not _is_pause(error):
                return BulkState("failed", job.state.done, job.state.total, error.wire_code)
            log.debug("embedding.job_look_failed", provider=self._api.provider, code=error.wire_code)
            return job.state

    async def _cancel(self, job: _Job, now_ms: int) -> None:
        """Ask for the end of a job that is given up, or that takes too long."""
        job.ending = "the batch API was given up" if self.gave_up else "it took too long"
        job.stop_ms = now_ms if self.gave_up else now_ms + CANCEL_MS
        try:
            await self._api.cancel(job.record.id)
        except ProviderFailedError as error:  # it may have ended meanwhile; the next look shows it
            log.debug("embedding.job_look_failed", provider=self._api.provider, code=error.wire_code)

    async def _collect(self, job: _Job) -> BulkResults:
        """Return what came of a job's texts."""
        hashes = job.record.hashes
        for attempt in range(COLLECT_TRIES):
            try:
                return of_these(await self._api.results(job.record.id, hashes), hashes)
            except ProviderFailedError as error:
                log.debug("embedding.job_look_failed", provider=self._api.provider, code=error.wire_code)
                if isinstance(error, ProviderAuthError) and not _is_pause(error):
                    break
            if self.gave_up:
                break
            await self._nap(max(self._poll_s * 2.0**attempt, self._api.retry_in_s()))
        job.ending = job.ending or "its results can't be had"
        return of_these(BulkResults(), hashes)

    # --- waiting and counting -----------------------------------------------------------------------

    async def _nap(self, seconds: float, until_ms: int | None = None) -> None:
        """Sleep, but not beyond a time, and no longer than until the batch API is given up."""
        if until_ms is not None:
            seconds = min(seconds, max(self._poll_s, (until_ms - self._clock()) / 1000))
        with trio.CancelScope() as nap:
            self._naps.add(nap)
            try:
                await self._pause(seconds)
            finally:
                self._naps.discard(nap)

    def _failed(self, reason: str) -> None:
        """Count a failure; after two in a row the batch API is given up."""
        self._failures += 1
        if self._failures < FAILURES or self.gave_up:
            return
        self.gave_up = True
        log.warning(
            "embedding.jobs_given_up",
            provider=self._api.provider,
            failures=self._failures,
            jobs=len(self._jobs),
            reason=reason,
        )
        for nap in self._naps:
            nap.cancel()


def _is_pause(error: ProviderFailedError) -> bool:
    """Return whether it isn't the batch API that failed: the account is paused, or its tokens are used up."""
    return "retry_after_s" in error.data or isinstance(error, ProviderRateLimitedError | TokenBudgetError)


def _first(group: BaseExceptionGroup[MemdError]) -> MemdError:
    """Return the first single error inside a group."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, MemdError)
    return error
