"""Jobs at a batch API, from the texts to the vectors: made, put down, handed on, forgotten, or given up."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import structlog
import trio

from memd.embedding.remote.bulk.api import BulkApi, BulkResults
from memd.embedding.remote.bulk.jobs import JobRecord, JobStore, pieces
from memd.embedding.remote.bulk.watch import Job, JobWatch, is_pause
from memd.embedding.remote.retry import named_pause_s
from memd.settings.schema import Batch
from memd.system.clock import Clock, has_passed
from memd_client.errors import MemdError, ProviderFailedError
from memd_client.reports import BulkJob

log = structlog.get_logger(__name__)

FAILURES: Final = 2
"""Failures in a row after which plain requests do the work."""

HOLD_S: Final = 60.0
"""How long no job is made after the provider asked for a pause and didn't say how long."""

SAVE_S: Final = 10.0
"""How long a record may take to be written when everything else is cancelled already."""

Item = tuple[str, str]
"""A text and its hash, the hash first."""


class BulkRun:
    """Jobs of one agent and one vector space.

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
        self._watch = JobWatch(api, clock, pause, poll_s=max(0.05, settings.poll_interval_ms / 1000))
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
        """Return the hashes of texts that are on their way: nobody else should embed them."""
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
        """Take up the jobs an earlier daemon left. `embed` does it by itself; a second time does nothing.

        Those of another space, provider or key can't be collected here: they are dropped.
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
        """Do one job after the other, earlier ones first, as long as there are any."""
        while jobs:
            await self._follow(jobs.popleft())
        while self._waiting:
            job = await self._submit(self._waiting.popleft())
            if job is None:
                # These needn't wait for the jobs that were made: they may be embedded by plain requests.
                self._waiting.clear()
                self._on_freed()
            else:
                await self._follow(job, is_new=True)

    # --- a job's beginning --------------------------------------------------------------------------

    async def _submit(self, piece: list[Item]) -> Job | None:
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
        """Put down which jobs there are; also when everything is being cancelled."""
        with trio.CancelScope(shield=True, deadline=trio.current_time() + SAVE_S):
            async with self._saving:  # in turn, so that an older list never replaces a newer one
                await self._store.save([job.record for job in self._jobs.values()])

    # --- a job's end --------------------------------------------------------------------------------

    async def _follow(self, job: Job, *, is_new: bool = False) -> None:
        """Watch a job until it ends, and hand on what came of it."""
        results = await self._watch.results_of(job, is_new=is_new)
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
        self._watch.hurry()


def _first(group: BaseExceptionGroup[MemdError]) -> MemdError:
    """Return the first single error inside a group."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, MemdError)
    return error
