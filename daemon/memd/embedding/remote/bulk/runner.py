"""Runs batch jobs, and stops using the batch API after failures."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import trio
from msgspec import Struct, field
from msgspec.structs import replace

from memd.embedding.numbers import clamped_count
from memd.embedding.remote.bulk.api import BulkApi, BulkResults, BulkState, match_to_hashes
from memd.embedding.remote.bulk.jobs import JobRecord, JobStore, split_into_jobs
from memd.embedding.remote.circuit_breaker import named_pause_s
from memd.settings.endpoints import Batch
from memd.system.clock import Clock, has_passed
from memd.system.log import log
from memd_client.errors import (
    MemdError,
    ProviderAuthError,
    ProviderFailedError,
    ProviderRateLimitedError,
    TokenBudgetError,
)
from memd_client.reports import BulkJob

MAX_FAILURES: Final = 2
"""Consecutive failures after which plain requests are used."""

DEFAULT_PAUSE_S: Final = 60.0
"""How long no job is submitted if the provider asks for a pause without a length."""

SAVE_S: Final = 10.0
"""The timeout for saving records, also during cancellation."""

Item = tuple[str, str]
"""A hash and its text."""

POLL_GROWTH: Final = 1.5
MAX_POLL_S: Final = 60.0
"""The polling interval of a job without progress grows by the factor to this maximum."""

CANCEL_MS: Final = 10 * 60_000
"""How long a cancelled job may take to prepare its results, according to OpenAI."""

COLLECT_TRIES: Final = 5
"""Tries to fetch the results of an ended job, which were paid for."""


class BatchJob(Struct):
    """A job under way; `ending` is why it was cancelled, `deadline_ms` epoch time."""

    record: JobRecord
    deadline_ms: int
    limit_ms: int
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
        self._sleeps: set[trio.CancelScope] = set()
        self._is_given_up = False

    def __repr__(self) -> str:
        return f"<JobPoller {self._api.provider}, {len(self._sleeps)} jobs watched>"

    def give_up(self) -> None:
        """Cancel all jobs and fetch their results so far; the batch API is given up."""
        self._is_given_up = True
        for sleep_scope in self._sleeps:
            sleep_scope.cancel()

    async def results_of(self, job: BatchJob, *, is_new: bool = False) -> BulkResults:
        """Poll a job until it ended or timed out; return the results of its texts."""
        await self._await_end(job, is_new)
        return await self._collect(job)

    async def _await_end(self, job: BatchJob, is_new: bool) -> None:
        wait_s = self._poll_s
        if is_new:
            await self._sleep(wait_s)
        while True:
            done = job.state.done
            job.state = await self._poll(job)
            if job.state.state != "running":
                return
            now_ms = self._clock()
            # A wall clock that is set back must not extend the wait.
            job.deadline_ms = min(job.deadline_ms, now_ms + job.limit_ms)
            if job.ending and (self._is_given_up or now_ms >= job.deadline_ms):
                return
            if not job.ending and (self._is_given_up or now_ms >= job.deadline_ms):
                await self._cancel(job, now_ms)
                continue
            moved = job.state.done > done
            wait_s = self._poll_s if moved else min(wait_s * POLL_GROWTH, max(MAX_POLL_S, self._poll_s))
            await self._sleep(max(wait_s, self._api.retry_in_s()), until_ms=job.deadline_ms)

    async def _poll(self, job: BatchJob) -> BulkState:
        """Return how far a job is. A failed poll does not end it: its deadline does."""
        texts = len(job.record.hashes)
        try:
            state = await self._api.poll(job.record.id)
            return replace(state, done=clamped_count(state.done, texts), total=texts)
        except ProviderFailedError as error:
            if isinstance(error, ProviderAuthError) and not is_pause(error):
                return BulkState("failed", job.state.done, job.state.total, error.wire_code)
            log.debug("embedding.job_call_failed", provider=self._api.provider, code=error.wire_code)
            return job.state

    async def _cancel(self, job: BatchJob, now_ms: int) -> None:
        """Cancel a job that timed out, or all after the batch API was given up."""
        job.ending = "the batch API was given up" if self._is_given_up else "it took too long"
        job.limit_ms = 0 if self._is_given_up else CANCEL_MS
        job.deadline_ms = now_ms + job.limit_ms
        try:
            await self._api.cancel(job.record.id)
        except ProviderFailedError as error:  # it may have ended meanwhile; the next poll shows it
            log.debug("embedding.job_call_failed", provider=self._api.provider, code=error.wire_code)

    async def _collect(self, job: BatchJob) -> BulkResults:
        hashes = job.record.hashes
        for attempt in range(COLLECT_TRIES):
            try:
                return match_to_hashes(await self._api.results(job.record.id, hashes), hashes)
            except ProviderFailedError as error:
                log.debug("embedding.job_call_failed", provider=self._api.provider, code=error.wire_code)
                if isinstance(error, ProviderAuthError) and not is_pause(error):
                    break
            if self._is_given_up:
                break
            await self._sleep(max(self._poll_s * 2.0**attempt, self._api.retry_in_s()))
        job.ending = job.ending or "its results are unavailable"
        return match_to_hashes(BulkResults(), hashes)

    async def _sleep(self, seconds: float, until_ms: int | None = None) -> None:
        """Sleep, but not beyond a time, nor once the batch API is given up."""
        if self._is_given_up:
            return
        if until_ms is not None:
            seconds = min(seconds, max(self._poll_s, (until_ms - self._clock()) / 1000))
        with trio.CancelScope() as sleep_scope:
            self._sleeps.add(sleep_scope)
            try:
                await self._pause(seconds)
            finally:
                self._sleeps.discard(sleep_scope)


def is_pause(error: ProviderFailedError) -> bool:
    """Return whether a paused account or exhausted budget is the cause."""
    return "retry_after_s" in error.data or isinstance(error, ProviderRateLimitedError | TokenBudgetError)


class BulkRunner:
    """Embeds texts of one agent and one vector space with batch jobs.

    `has_given_up` becomes true after two consecutive failures; `embed` then does nothing.
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
        self._jobs: dict[str, BatchJob] = {}
        self._submitting: set[str] = set()
        self._accepted: set[str] = set()
        self._waiting: deque[list[Item]] = deque()
        self._failures = 0
        self._paused_from_ms = self._pause_ms = 0
        self._is_resumed = False
        self._embedding = trio.Lock()
        self._saving = trio.Lock()
        self.has_given_up = False

    def __repr__(self) -> str:
        state = (
            "gave up" if self.has_given_up else f"{len(self._jobs)} jobs, {self._failures} failures in a row"
        )
        return f"<BulkRunner {self._api.provider} {state}>"

    @property
    def may_submit(self) -> bool:
        """Whether a job may be submitted: no pause, no failures, enabled."""
        is_paused = self._api.retry_in_s() > 0 or not has_passed(
            self._pause_ms, self._paused_from_ms, self._clock()
        )
        return self._settings.enabled and not self.has_given_up and not is_paused

    def in_flight(self) -> set[str]:
        """Return the hashes of all accepted texts, which must not be embedded elsewhere."""
        return self._accepted | self._in_jobs()

    def _in_jobs(self) -> set[str]:
        """Return the hashes of texts in jobs or waiting for one."""
        waiting = ({digest for digest, _ in items} for items in self._waiting)
        return self._submitting.union(*waiting, *(job.record.hashes for job in self._jobs.values()))

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
        """Load the saved jobs of an earlier run; idempotent, called by `embed`.

        Jobs of another space, provider or key are dropped.
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
        """Embed texts, and pass results to `on_results` as jobs end.

        Returns when these and all earlier jobs have ended, or when the batch API is given up. A text has no result if
        its job failed, if no job may be submitted now, or if it is too big for a job.

        Cancellation: jobs at the provider continue; the next call, or the next daemon, fetches their results.
        """
        self._accepted.update(digest for digest, _ in items)
        async with self._embedding:
            try:
                await self.resume()
                jobs = deque(self._jobs.values())
                if self.may_submit:
                    self._waiting.extend(await self._split(items))
            finally:
                self._accepted.clear()
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

    async def _split(self, items: Sequence[Item]) -> list[list[Item]]:
        in_flight, api = self._in_jobs(), self._api
        return await trio.to_thread.run_sync(
            lambda: split_into_jobs(
                items, in_flight=in_flight, max_texts=api.max_texts, max_bytes=api.max_bytes
            ),
            limiter=trio.CapacityLimiter(1),
        )

    async def _work(self, jobs: deque[BatchJob]) -> None:
        """Finish the jobs of earlier runs, then submit and finish new ones, one at a time."""
        while jobs:
            await self._finish_job(jobs.popleft())
        while self._waiting:
            job = await self._submit(self._waiting.popleft())
            if job is None:
                # Plain requests may embed the other texts now, without waiting for the jobs under way.
                self._waiting.clear()
                self._on_freed()
            else:
                await self._finish_job(job, is_new=True)

    # --- submission --------------------------------------------------------------------------

    async def _submit(self, items: list[Item]) -> BatchJob | None:
        """Submit texts as a job; return None if that is not possible now."""
        hashes = tuple(digest for digest, _ in items)
        if not self.may_submit:
            return None
        self._submitting.update(hashes)
        try:
            job_id = await self._api.submit(items)
            # No checkpoint before this: a job without recorded id would be paid for in vain.
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
                self._paused_from_ms = self._clock()
                self._pause_ms = round(1000 * (named_pause_s(error) or DEFAULT_PAUSE_S))
            else:
                self._count_failure(error.wire_code)
            return None
        finally:
            self._submitting.difference_update(hashes)
        await self._save()
        log.info("embedding.job_submitted", provider=self._api.provider, job=job_id, texts=len(hashes))
        return job

    def _add(self, record: JobRecord) -> BatchJob:
        job = BatchJob(record, record.submitted_ms + self._timeout_ms, self._timeout_ms)
        self._jobs[record.id] = job
        return job

    async def _save(self) -> None:
        """Save the records of all jobs, also during cancellation."""
        with trio.CancelScope(shield=True, deadline=trio.current_time() + SAVE_S):
            async with self._saving:  # so that no older list replaces a newer one
                await self._store.save([job.record for job in self._jobs.values()])

    # --- end of a job --------------------------------------------------------------------------------

    async def _finish_job(self, job: BatchJob, *, is_new: bool = False) -> None:
        """Poll a job until it ends, pass on its results, and delete it."""
        results = await self._poller.results_of(job, is_new=is_new)
        await self._on_results(results)
        record, state = job.record, job.state
        self._jobs.pop(record.id, None)
        await self._save()
        answered = 2 * len(results.failed) <= len(record.hashes)
        has_succeeded = state.state == "done" and not job.ending and answered
        reason = "" if has_succeeded else job.ending or state.reason or "most of its texts failed"
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
        if has_succeeded:
            self._failures = 0
        else:
            self._count_failure(reason)
        await self._api.clean_up(record.id)

    def _count_failure(self, reason: str) -> None:
        """Count a failure; give up the batch API after two consecutive ones."""
        self._failures += 1
        if self._failures < MAX_FAILURES or self.has_given_up:
            return
        self.has_given_up = True
        log.warning(
            "embedding.jobs_given_up",
            provider=self._api.provider,
            failures=self._failures,
            jobs=len(self._jobs),
            reason=reason,
        )
        self._poller.give_up()


def _first(group: BaseExceptionGroup[MemdError]) -> MemdError:
    """Return the first error in a group."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, MemdError)
    return error
