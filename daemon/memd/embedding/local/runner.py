"""The lifecycle of a model: loaded on demand, restarted, unloaded when idle.

One task, `ModelRunner.run`, embeds one query or one or more texts at a time. If a request is cancelled, its text is
removed from the queue, or its vector is discarded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal

import structlog
import trio

from memd.embedding.local import fit
from memd.embedding.local.estimate import estimate_model
from memd.embedding.local.header import FileStamp, load_fingerprint, load_header, load_stamp
from memd.embedding.local.jobs import FloatArray, InferenceJob, JobKind, JobQueue
from memd.embedding.local.model_memory import Activity, ModelMemoryManager, Residency
from memd.embedding.local.process import (
    BACKOFF_FIRST_SECONDS,
    BACKOFF_MAX_SECONDS,
    MAX_TOGETHER,
    ModelProcess,
    Outcome,
    RunnerSettings,
)
from memd.system.back_off import back_off_s
from memd.system.units import size
from memd_client.errors import (
    DeadlineExceededError,
    LocalExtraMissingError,
    MemdError,
    ModelChildError,
    ModelInvalidError,
    ProviderFailedError,
    ShuttingDownError,
)

log = structlog.get_logger(__name__)

QUERY_QUIET_SECONDS: Final = 1.0
"""For this time after a query texts are embedded one at a time: texts in parallel take longer, so the next query would
interrupt them, and the computation would be lost."""

PERMANENT_FAILURE_SECONDS: Final = 60.0
"""For this time a permanent error isn't checked again, unless the file changes. A missing package may get installed."""

MAX_TRIES: Final = 2
"""Tries of a text whose process died: the text may be the cause."""

State = Literal["idle", "waiting", "loading", "ready", "restarting", "failed"]


@dataclass(frozen=True, slots=True)
class RunnerStatus:
    """A model's state; `pid` is None and `rss_bytes` 0 while it isn't loaded."""

    model: str
    path: str
    state: State
    pid: int | None
    rss_bytes: int
    queued: int
    restarts: int
    problem: str | None


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """The parameters of a model process, its estimated RAM, and the stamp of its file."""

    stamp: FileStamp
    context: int
    threads: int
    need_bytes: int


NO_PLAN = LoadPlan(FileStamp(0, 0, 0), context=0, threads=0, need_bytes=0)


@dataclass(frozen=True, slots=True)
class PermanentFailure:
    """A permanent error, valid `until` a time of trio's clock or a change of the file."""

    error: MemdError
    stamp: FileStamp
    until: float


def load_plan(path: Path, *, fingerprint: str | None, chunk_tokens: int, threads: int) -> LoadPlan:
    """Return how to start a model; raise if it is unusable. Blocks on disk."""
    stamp = load_stamp(path)
    header = load_header(path)
    if fingerprint is not None and load_fingerprint(path) != fingerprint:
        raise ModelInvalidError(
            f"{path} was replaced by another file",
            hint="wait for the next check of the settings, which detects the new file",
        )
    threads = fit.thread_count(threads, fit.load_physical_cores())
    estimate = estimate_model(stamp.size, header, chunk_tokens=chunk_tokens)
    return LoadPlan(stamp, context=estimate.context, threads=threads, need_bytes=estimate.peak_bytes)


class Backoff:
    """Exponential back-off before restarts, in seconds of a monotonic clock."""

    def __init__(self) -> None:
        self.failures = 0
        self._not_before = -math.inf

    def __repr__(self) -> str:
        return f"<Backoff failures={self.failures}>"

    def record_failure(self, now: float) -> float:
        """Record a failure; return the wait before the next start."""
        self.failures += 1
        wait_s = back_off_s(self.failures, BACKOFF_FIRST_SECONDS, BACKOFF_MAX_SECONDS)
        self._not_before = now + wait_s
        return wait_s

    def record_success(self) -> None:
        """Record a success, which resets the back-off."""
        self.failures = 0

    def wait_s(self, now: float) -> float:
        """Return the remaining wait before the next start, 0 if none."""
        return max(0.0, self._not_before - now)


class ModelRunner:
    """Runs one model: its queue and its process."""

    def __init__(
        self,
        path: Path,
        name: str,
        settings: RunnerSettings,
        memory: ModelMemoryManager,
        *,
        chunk_tokens: int,
        fingerprint: str | None,
    ) -> None:
        self.path = path
        self.name = name
        self.chunk_tokens = chunk_tokens
        self._settings = settings
        self._memory = memory
        self._fingerprint = fingerprint
        self._queue = JobQueue()
        self._wake = trio.Event()
        self._interrupt_requested = trio.Event()
        self._process: ModelProcess | None = None
        self._state: State = "idle"
        self._problem: MemdError | None = None
        self._permanent_failure: PermanentFailure | None = None
        self._plan = NO_PLAN
        self._under_way: InferenceJob | None = None
        self._loaded_at = self._last_used = self._last_query = -math.inf
        self._is_evicted = False
        self._backoff = Backoff()
        self._disk = trio.CapacityLimiter(1)
        self.restarts = 0

    def __repr__(self) -> str:
        return f"<ModelRunner {self.name} {self._state} queued={len(self._queue)} restarts={self.restarts}>"

    def status(self) -> RunnerStatus:
        """Return the model's status; reads /proc."""
        pid = self._process.pid if self._process else None
        return RunnerStatus(
            model=self.name,
            path=str(self.path),
            state=self._state,
            pid=pid,
            rss_bytes=fit.load_rss_bytes(pid) if pid else 0,
            queued=len(self._queue),
            restarts=self.restarts,
            problem=self._problem.message if self._problem else self._memory_problem(),
        )

    def _memory_problem(self) -> str | None:
        """Return the status text if the RAM budget is too small for the model."""
        need, budget = self._plan.need_bytes, self._memory.budget_bytes
        action = "it waits until other models are idle" if self._state == "waiting" else "it is loaded alone"
        text = f"it needs about {size(need)}, and models may use {size(budget)} together: {action}"
        return text if self._state == "waiting" or need > budget else None

    def residency(self, need: int) -> Residency:
        """Return the model's residency, see `Loadable`."""
        work: Activity = (self._under_way.kind if self._under_way else self._queue.next_kind()) or "nothing"
        if self._state != "ready":
            work = "loading"
        return Residency(need, self._loaded_at, self._last_used, work, is_evicted=self._is_evicted)

    def waiting_kind(self) -> JobKind | None:
        """Return the kind of the most urgent waiting job, None without one."""
        return self._queue.next_kind()

    def evict(self) -> None:
        """Request the end of the process; interrupts its text if possible."""
        self._is_evicted = True
        self._interrupt_requested.set()
        self._wake.set()

    async def embed(self, job: InferenceJob) -> FloatArray:
        """Return the raw vector (dims,) of a job's text.

        Queries have priority, and interrupt a text under way.

        Cancellation: removes the job; other requests aren't affected.
        """
        ahead = len(self._queue) if job.kind == "text" else 0
        request_timeout_s = self._settings.request_timeout_s(job.kind) + ahead * self._settings.text_timeout_s
        wait_s = self._backoff.wait_s(trio.current_time())
        if job.kind == "query" and wait_s > self._settings.query_timeout_s and self._problem is not None:
            raise ModelChildError(f"{self._problem.message}; restart in {wait_s:.0f} s")
        self._queue.push(job)
        self._wake.set()
        if job.kind == "query":
            self._last_query = trio.current_time()
            self._interrupt_requested.set()
        self._memory.changed()
        try:
            with trio.move_on_after(request_timeout_s):
                return await job.result()
            reason = {"waiting": self._memory_problem(), "loading": "it is loading"}.get(self._state)
            reason = f": {reason}" if reason else ""
            raise DeadlineExceededError(f"timed out waiting for model {self.name}{reason}")
        finally:
            job.abandoned = True
            self._queue.discard(job)
            self._memory.changed()

    async def run(self) -> None:
        """Run until cancelled; waiting requests then raise ShuttingDownError."""
        try:
            while True:
                await self._wait_for_job()
                error = await self._find_permanent_failure()
                if error is not None:
                    self._fail_permanently(error)
                elif await self._back_off() and await self._wait_for_memory():
                    try:
                        await self._run_process()
                    finally:
                        self._memory.release(self)
        finally:
            self._fail(self._queue.take_all(), ShuttingDownError(f"model {self.name} is being unloaded"))
            self._state = "idle"

    async def _wait_for_job(self, process: ModelProcess | None = None) -> bool:
        """Wait for a job; False on exit, eviction or idle timeout of the process."""
        idle_s = self._settings.keep_alive_s if process and self._settings.keep_alive_s > 0 else math.inf
        with trio.move_on_after(idle_s):
            while not self._queue and not (process and (process.exited.is_set() or self._is_evicted)):
                self._wake = trio.Event()
                await self._wake.wait()
        return len(self._queue) > 0

    async def _find_permanent_failure(self) -> MemdError | None:
        """Plan the process; return the error if the model is known to be unusable."""
        load = partial(
            load_plan,
            self.path,
            fingerprint=self._fingerprint,
            chunk_tokens=self.chunk_tokens,
            threads=self._settings.threads,
        )
        try:
            self._plan = await trio.to_thread.run_sync(load, limiter=self._disk)
        except MemdError as error:
            return error
        failure = self._permanent_failure
        if failure and failure.stamp == self._plan.stamp and trio.current_time() < failure.until:
            return failure.error
        self._permanent_failure = None
        return None

    async def _back_off(self) -> bool:
        """Wait for the back-off; False if no job waits any more."""
        wait_s = self._backoff.wait_s(trio.current_time())
        if wait_s > 0:
            self._state = "restarting"
            if wait_s > self._settings.query_timeout_s and self._problem is not None:
                self._fail(self._queue.take_all("query"), self._problem)
            await trio.sleep(wait_s)
        return len(self._queue) > 0

    async def _wait_for_memory(self) -> bool:
        """Wait for admission to the RAM budget; False if no job waits any more."""
        self._is_evicted = False
        self._state = "waiting"
        entered = await self._memory.admit(self, self._plan.need_bytes)
        self._state = "loading" if entered else "idle"
        return entered

    async def _run_process(self) -> None:
        """Start a process and run it until its end."""
        self.restarts += 1 if self._backoff.failures else 0
        async with trio.open_nursery() as nursery:
            try:
                process = ModelProcess.start(
                    nursery,
                    self.path,
                    context=self._plan.context,
                    threads=self._plan.threads,
                    command=self._settings.command,
                    on_exit=lambda: self._wake.set(),
                )
            except ModelChildError as error:
                self._record_death(error, *self._queue.take_all())
                return
            self._process = process
            try:
                if await self._load_model(process):
                    nursery.start_soon(self._interrupt, process)
                    await self._serve(process)
            finally:
                self._process = None
                await process.aclose()
                nursery.cancel_scope.cancel()

    async def _load_model(self, process: ModelProcess) -> bool:
        """Wait until the model is loaded; False if that fails."""
        started = trio.current_time()
        try:
            await process.load(self._settings.load_timeout_s)
        except (LocalExtraMissingError, ModelInvalidError) as error:
            self._permanent_failure = PermanentFailure(
                error, self._plan.stamp, trio.current_time() + PERMANENT_FAILURE_SECONDS
            )
            self._fail_permanently(error)
            return False
        except ModelChildError as error:
            self._record_death(error, *self._queue.take_all())
            return False
        self._state = "ready"
        self._loaded_at = self._last_used = trio.current_time()
        seconds = round(trio.current_time() - started, 3)
        log.info("embedding.model_loaded", model=self.name, pid=process.pid, seconds=seconds)
        return True

    async def _serve(self, process: ModelProcess) -> None:
        """Embed texts until the process dies, is evicted, or was idle for `keep_alive_s`."""
        while await self._wait_for_job(process):
            if process.exited.is_set() or self._is_evicted:
                break
            jobs = self._queue.pop_some(self._max_together(process), self._needs_all_threads)
            self._under_way = jobs[0]
            try:
                await self._embed_jobs(process, jobs)
                self._put_back(jobs)
                self._backoff.record_success()
                self._problem = None
            except ProviderFailedError as error:
                self._fail([job for job in jobs if not job.is_over], error)
            except ModelChildError as error:
                self._record_death(error, *(job for job in jobs if not job.is_over))
                return
            except trio.Cancelled:
                self._put_back(jobs)
                raise
            finally:
                self._under_way = None
                self._last_used = trio.current_time()
                self._memory.changed()
        self._state = "idle"
        if process.exited.is_set():
            self._record_death(ModelChildError(f"the model process of {self.name} ended while idle"))
        elif self._is_evicted:
            log.info("embedding.model_evicted", model=self.name, queued=len(self._queue))
        else:
            log.info("embedding.model_unloaded", model=self.name, idle_s=self._settings.keep_alive_s)

    def _max_together(self, process: ModelProcess) -> int:
        """Return how many texts to embed in parallel; 1 shortly after queries."""
        is_query_quiet = trio.current_time() - self._last_query >= QUERY_QUIET_SECONDS
        return MAX_TOGETHER if process.parallel_texts > 1 and is_query_quiet else 1

    def _needs_all_threads(self, job: InferenceJob) -> bool:
        """Return whether to embed a text alone, after a crash or long interruption."""
        return job.tries > 0 or self._is_overdue(job)

    def _is_overdue(self, job: InferenceJob) -> bool:
        return trio.current_time() - job.first_tried_s >= self._settings.interruptible_s

    async def _embed_jobs(self, process: ModelProcess, jobs: list[InferenceJob]) -> None:
        """Embed one or several jobs; interrupted ones remain unfinished."""
        begun = trio.current_time()

        def settle(position: int, outcome: Outcome) -> None:
            job = jobs[position]
            if outcome is None:
                job.first_tried_s = min(job.first_tried_s, begun)
            elif isinstance(outcome, ProviderFailedError):
                job.fail(outcome)
            else:
                job.finish(outcome)

        is_text = jobs[0].kind == "text"
        share = process.parallel_texts if len(jobs) > 1 else 1  # each text has a share of the threads
        await process.embed(
            [job.text for job in jobs],
            self._settings.timeout_s(jobs[0].kind) * share,
            settle,
            interruptible=is_text and not self._is_overdue(jobs[0]),
            background=is_text,
        )

    def _put_back(self, jobs: list[InferenceJob]) -> None:
        """Return unfinished jobs to the front of the queue, in order."""
        for job in reversed(jobs):
            if not job.is_over and not job.abandoned:
                self._queue.push_back(job)

    async def _interrupt(self, process: ModelProcess) -> None:
        """Interrupt texts when a query arrives or the model is evicted."""
        while True:
            await self._interrupt_requested.wait()
            self._interrupt_requested = trio.Event()
            await process.interrupt()

    def _record_death(self, error: ModelChildError, *jobs: InferenceJob) -> None:
        """Record the end of a process; requeue its jobs, or fail them after two tries."""
        wait_s = self._backoff.record_failure(trio.current_time())
        self._problem = error
        self._state = "restarting"
        log.warning("embedding.model_child_died", error=error.message, retry_s=wait_s, **error.data)
        for job in reversed(jobs):
            job.tries += 1
            if job.tries >= MAX_TRIES:
                job.fail(error)
            elif not job.abandoned:
                self._queue.push_back(job)

    def _fail_permanently(self, error: MemdError) -> None:
        """Fail all waiting jobs with a permanent error."""
        if self._state != "failed":
            log.warning("embedding.model_refused", model=self.name, error=error.message)
        self._state = "failed"
        self._problem = error
        self._fail(self._queue.take_all(), error)

    @staticmethod
    def _fail(jobs: list[InferenceJob], error: MemdError) -> None:
        for job in jobs:
            job.fail(error)
