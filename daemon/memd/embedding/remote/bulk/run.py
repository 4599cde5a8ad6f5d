"""Jobs at a batch API, from texts to vectors: submitted, recorded, polled, collected, and given up after failures."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import structlog
import trio

from memd.embedding.numbers import clamped_count
from memd.embedding.remote.bulk.api import BulkApi, BulkResults, BulkState, of_these
from memd.embedding.remote.bulk.jobs import JobRecord, JobStore, pieces
from memd.embedding.remote.circuit_breaker import named_pause_s
from memd.settings.schema import Batch
from memd.system.clock import Clock, has_passed
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

HOLD_S: Final = 60.0
"""How long no job is made after the provider asked for a pause without a length."""

SAVE_S: Final = 10.0
"""How long a record may take to be saved after cancellation."""

Item = tuple[str, str]
"""A hash and its text."""

GROWTH: Final = 1.5
LONGEST_POLL_S: Final = 60.0
"""The polling interval of a job without progress grows to this."""

CANCEL_MS: Final = 10 * 60_000
"""How long a cancelled job may take to prepare its results: OpenAI says so."""

COLLECT_TRIES: Final = 5
"""Tries to fetch the results of a job that ended; they are paid for."""


@dataclass(slots=True)
class Job:
    """A job under way. `ending` says why it was cancelled; at `stop_ms` its `most_ms` are over (epoch milliseconds)."""

    record: JobRecord
    stop_ms: int
    most_ms: int
    state: BulkState = field(default_factory=lambda: BulkState("running", 0, 0))
    ending: str = ""


class JobPoller:
    """Polls jobs until they end or time out."""

    def __init__(
        self, api: BulkApi, clock: Clock, pause: Callable[[float], Awaitable[None]], *, poll_s: float
    ) -> None:
        self._api = api
        self._clock = clock
        self._pause = pause
        self._poll_s = poll_s
        self._naps: set[trio.CancelScope] = set()
        self._is_given_up = False

    def __repr__(self) -> str:
        return f"<JobPoller {self._api.provider}, {len(self._naps)} jobs watched>"

    def give_up(self) -> None:
        """Cancel every job now and collect its results so far: the batch API is given up."""
        self._is_given_up = True
        for nap in self._naps:
            nap.cancel()

    async def results_of(self, job: Job, *, is_new: bool = False) -> BulkResults:
        """Poll a job until it has ended or was cut short; return the results of its texts."""
        await self._await_end(job, is_new)
        return await self._collect(job)

    async def _await_end(self, job: Job, is_new: bool) -> None:
        wait_s = self._poll_s
        if is_new:
            await self._nap(wait_s)
        while True:
            done = job.state.done
            job.state = await self._look(job)
            if job.state.state != "running":
                return
            now_ms = self._clock()
            # A wall clock that was set back must not make the wait longer.
            job.stop_ms = min(job.stop_ms, now_ms + job.most_ms)
            if job.ending and (self._is_given_up or now_ms >= job.stop_ms):
                return
            if not job.ending and (self._is_given_up or now_ms >= job.stop_ms):
                await self._cancel(job, now_ms)
                continue
            moved = job.state.done > done
            wait_s = self._poll_s if moved else min(wait_s * GROWTH, max(LONGEST_POLL_S, self._poll_s))
            await self._nap(max(wait_s, self._api.retry_in_s()), until_ms=job.stop_ms)

    async def _look(self, job: Job) -> BulkState:
        """Return how far a job is. A failed look does not end it: its deadline does."""
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
        """Cancel a job that is given up, or that takes too long."""
        job.ending = "the batch API was given up" if self._is_given_up else "it took too long"
        job.most_ms = 0 if self._is_given_up else CANCEL_MS
        job.stop_ms = now_ms + job.most_ms
        try:
            await self._api.cancel(job.record.id)
        except ProviderFailedError as error:  # it may have ended meanwhile; the next look shows it
            log.debug("embedding.job_call_failed", provider=self._api.provider, code=error.wire_code)

    async def _collect(self, job: Job) -> BulkResults:
        hashes = job.record.hashes
        for attempt in range(COLLECT_TRIES):
            try:
                return of_these(await self._api.results(job.record.id, hashes), hashes)
            except ProviderFailedError as error:
                log.debug("embedding.job_call_failed", provider=self._api.provider, code=error.wire_code)
                if isinstance(error, ProviderAuthError) and not is_pause(error):
                    break
            if self._is_given_up:
                break
            await self._nap(max(self._poll_s * 2.0**attempt, self._api.retry_in_s()))
        job.ending = job.ending or "its results can't be had"
        return of_these(BulkResults(), hashes)

    async def _nap(self, seconds: float, until_ms: int | None = None) -> None:
        """Sleep, but not beyond a time, nor after the batch API is given up."""
        if self._is_given_up:
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
    """Return whether the account is paused or its tokens are used up, and the batch API has not failed."""
    return "retry_after_s" in error.data or isinstance(error, ProviderRateLimitedError | TokenBudgetError)


class BulkRun:
    """The jobs of one agent and one vector space.

    `gave_up` is set for good after two failures in a row: `embed` does nothing then.
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
        on_freed: Callable[[], None] = lambda: None,
        pause: Callable[[float], Awaitable[None]] = trio.sleep,
    ) -> None:
        self._api = api
        self._settings = settings
        self._store = store
        self._space = space
        self._clock = clock
        self._poller = JobPoller(api, clock, pause, poll_s=max(0.05, settings.poll_interval_ms / 1000))
        self._on_results = on_results
        self._on_freed = on_freed
        self._timeout_ms = settings.timeout_minutes * 60_000
        self._jobs: dict[str, Job] = {}
        self._leaving: set[str] = set()
        self._coming: set[str] = set()
        self._waiting: deque[list[Item]] = deque()
        self._failures = 0
        self._held_from_ms = self._hold_ms = 0
        self._is_resumed = False
        self._one_at_a_time = trio.Lock()
        self._saving = trio.Lock()
        self.gave_up = False

    def __repr__(self) -> str:
        state = "gave up" if self.gave_up else f"{len(self._jobs)} jobs, {self._failures} failures in a row"
        return f"<BulkRun {self._api.provider} {state}>"

    @property
    def may_submit(self) -> bool:
        """Whether a job may be made now; not while the account is paused, or after its tokens were used up."""
        is_held = self._api.retry_in_s() > 0 or not has_passed(
            self._hold_ms, self._held_from_ms, self._clock()
        )
        return self._settings.enabled and not self.gave_up and not is_held

    def in_flight(self) -> set[str]:
        """Return the hashes of texts in jobs or about to be, which must not be embedded elsewhere."""
        return self._coming | self._taken()

    def _taken(self) -> set[str]:
        """Return the hashes of texts that are in a job, or about to be."""
        waiting = ({digest for digest, _ in piece} for piece in self._waiting)
        return self._leaving.union(*waiting, *(job.record.hashes for job in self._jobs.values()))

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
        """Continue the jobs of an earlier daemon; `embed` calls this. A second time does nothing.

        Those of another space, provider or key can't be collected here and are dropped.
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
        """Embed texts, and pass the results to `on_results` as jobs end.

        Returns when all these jobs and all earlier ones have ended, or when the batch API was given up. A text may
        have no result: its job failed, it can't be submitted now, or it is too big for a job.

        Cancellation: may be cancelled anywhere. Jobs at the provider go on, and the next call or the next daemon
        collects them.
        """
        self._coming.update(digest for digest, _ in items)
        async with self._one_at_a_time:
            try:
                await self.resume()
                jobs = deque(self._jobs.values())
                if self.may_submit:
                    self._waiting.extend(await self._pieces(items))
            finally:
                self._coming.clear()
            error: MemdError | None = None
            try:
                async with trio.open_nursery() as nursery:
                    for _ in range(min(max(1, self._settings.concurrency), len(jobs) + len(self._waiting))):
                        nursery.start_soon(self._work, jobs)
            except* MemdError as group:
                error = _first(group)
            finally:
                self._waiting.clear()
            if error is not None:
                raise error

    async def _pieces(self, items: Sequence[Item]) -> list[list[Item]]:
        taken, api = self._taken(), self._api
        return await trio.to_thread.run_sync(
            lambda: pieces(items, taken=taken, max_texts=api.max_texts, max_bytes=api.max_bytes),
            limiter=trio.CapacityLimiter(1),
        )

    async def _work(self, jobs: deque[Job]) -> None:
        """Do one job after the other, earlier ones first."""
        while jobs:
            await self._follow(jobs.popleft())
        while self._waiting:
            job = await self._submit(self._waiting.popleft())
            if job is None:
                # These need not wait for the jobs under way: they may be embedded by plain requests.
                self._waiting.clear()
                self._on_freed()
            else:
                await self._follow(job, is_new=True)

    # --- a job's beginning --------------------------------------------------------------------------

    async def _submit(self, piece: list[Item]) -> Job | None:
        """Make a job of some texts; return None if none can be made now."""
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
            if is_pause(error):
                self._held_from_ms = self._clock()
                self._hold_ms = round(1000 * (named_pause_s(error) or HOLD_S))
            else:
                self._failed(error.wire_code)
            return None
        finally:
            self._leaving.difference_update(hashes)
        await self._save()
        log.info("embedding.job_submitted", provider=self._api.provider, job=job_id, texts=len(hashes))
        return job

    def _add(self, record: JobRecord) -> Job:
        job = Job(record, record.submitted_ms + self._timeout_ms, self._timeout_ms)
        self._jobs[record.id] = job
        return job

    async def _save(self) -> None:
        """Save the records of all jobs, also during cancellation."""
        with trio.CancelScope(shield=True, deadline=trio.current_time() + SAVE_S):
            async with self._saving:  # so that an older list never replaces a newer one
                await self._store.save([job.record for job in self._jobs.values()])

    # --- a job's end --------------------------------------------------------------------------------

    async def _follow(self, job: Job, *, is_new: bool = False) -> None:
        """Poll a job until it ends, and pass on its results."""
        results = await self._poller.results_of(job, is_new=is_new)
        await self._on_results(results)
        record, state = job.record, job.state
        self._jobs.pop(record.id, None)
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
        self._poller.give_up()


def _first(group: BaseExceptionGroup[MemdError]) -> MemdError:
    """Return the first single error inside a group."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, MemdError)
    return error
