"""The lifecycle of one model: loaded when a text waits, restarted when its process dies, stopped when idle.

The one task of `ModelRunner.run` does it all: one query at a time, or one text, or several texts in parallel. A
cancelled request leaves nothing half done: its text is dropped from the queue, or its answer is dropped.
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
from memd.embedding.local.header import FileStamp, load_fingerprint, load_header, load_stamp
from memd.embedding.local.jobs import FloatArray, Job, JobQueue, Kind
from memd.embedding.local.model_memory import ModelMemoryManager, Residency, Work
from memd.embedding.local.process import (
    BACKOFF_FIRST_SECONDS,
    BACKOFF_MAX_SECONDS,
    MAX_TOGETHER,
    ModelProcess,
    Outcome,
    RunnerSettings,
)
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

CALM_SECONDS: Final = 1.0
"""How long after a query texts still go one by one: two on half the threads each would rarely get done between two
queries, and all that was computed is lost."""

REFUSAL_SECONDS: Final = 60.0
"""How long a permanent error is believed while the file stays the same: the extra may get installed."""

MAX_TRIES: Final = 2
"""A text that was in the child when it died is tried once more: it may be the cause."""

State = Literal["idle", "waiting", "loading", "ready", "restarting", "failed"]


@dataclass(frozen=True, slots=True)
class RunnerStatus:
    """What a model is doing; `waiting` is for RAM. `pid` is None and `rss_bytes` 0 while it isn't loaded."""

    model: str
    path: str
    state: State
    pid: int | None
    rss_bytes: int
    queued: int
    restarts: int
    problem: str | None


@dataclass(frozen=True, slots=True)
class Plan:
    """How a process is to be started, what it will take of memory, and the file it was planned for."""

    stamp: FileStamp
    context: int
    threads: int
    need_bytes: int


NO_PLAN = Plan(FileStamp(0, 0, 0), context=0, threads=0, need_bytes=0)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A permanent error, believed `until` a moment of trio's clock while the file keeps its stamp."""

    error: MemdError
    stamp: FileStamp
    until: float


def load_plan(path: Path, *, fingerprint: str | None, chunk_tokens: int, threads: int) -> Plan:
    """Return how to start a model."""
    stamp = load_stamp(path)
    header = load_header(path)
    if fingerprint is not None and load_fingerprint(path) != fingerprint:
        raise ModelInvalidError(
            f"{path} is another file than the one that was chosen",
            hint="Nothing to do: the daemon notices the new file with its next look at the settings.",
        )
    context = fit.context_tokens(chunk_tokens, header.trained_tokens)
    return Plan(
        stamp,
        context=context,
        threads=fit.thread_count(threads, fit.load_physical_cores()),
        need_bytes=fit.memory_need(stamp.size, context),
    )


class Backoff:
    """When a process that keeps dying may be started again. Times are of a monotonic clock, in seconds."""

    def __init__(self) -> None:
        self.failures = 0
        self._not_before = -math.inf

    def __repr__(self) -> str:
        return f"<Backoff failures={self.failures}>"

    def failed(self, now: float) -> float:
        """Note a death; return for how long no new process is started."""
        self.failures += 1
        wait_s = min(BACKOFF_FIRST_SECONDS * 2.0 ** min(self.failures - 1, 16), BACKOFF_MAX_SECONDS)
        self._not_before = now + wait_s
        return wait_s

    def succeeded(self) -> None:
        """Note an answer: the next death is the first again."""
        self.failures = 0

    def wait_s(self, now: float) -> float:
        """Return how long the next start has to wait still, 0 where it may be now."""
        return max(0.0, self._not_before - now)


class ModelRunner:
    """The queue of one model, and its process."""

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
        self._interrupting = trio.Event()
        self._process: ModelProcess | None = None
        self._state: State = "idle"
        self._problem: MemdError | None = None
        self._refusal: Refusal | None = None
        self._plan = NO_PLAN
        self._under_way: Job | None = None
        self._loaded_at = self._last_used = self._last_query = -math.inf
        self._is_evicted = False
        self._backoff = Backoff()
        self._disk = trio.CapacityLimiter(1)
        self.restarts = 0

    def __repr__(self) -> str:
        return f"<ModelRunner {self.name} {self._state} queued={len(self._queue)} restarts={self.restarts}>"

    def status(self) -> RunnerStatus:
        """Return what the model is doing now; reads /proc, never waits."""
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
        """Return what the status says of the model's RAM, if there is too little."""
        need, budget = self._plan.need_bytes, self._memory.budget_bytes
        then = "it waits until others are idle" if self._state == "waiting" else "it is loaded alone"
        text = f"it needs about {size(need)}, and models may use {size(budget)} together: {then}"
        return text if self._state == "waiting" or need > budget else None

    def residency(self, need: int) -> Residency:
        """Return what the model is doing in RAM."""
        work: Work = (self._under_way.kind if self._under_way else self._queue.next_kind()) or "nothing"
        if self._state != "ready":
            work = "loading"
        return Residency(need, self._loaded_at, self._last_used, work, is_evicted=self._is_evicted)

    def waits_for(self) -> Kind | None:
        """Return what waits for the model, the most urgent."""
        return self._queue.next_kind()

    def evict(self) -> None:
        """End the process as soon as the text under way is done, or interrupted if it may be."""
        self._is_evicted = True
        self._interrupting.set()
        self._wake.set()

    async def ask(self, job: Job) -> FloatArray:
        """Return the raw vector (dims,) of a job's text.

        It comes after the queries before it; a query interrupts the text before it.

        Cancellation: the job is dropped; the process and the other requests notice nothing.
        """
        ahead = len(self._queue) if job.kind == "text" else 0
        patience_s = self._settings.patience_s(job.kind) + ahead * self._settings.text_timeout_s
        wait_s = self._backoff.wait_s(trio.current_time())
        if job.kind == "query" and wait_s > self._settings.query_timeout_s and self._problem is not None:
            raise ModelChildError(f"{self._problem.message}; it is started again in {wait_s:.0f} s")
        self._queue.push(job)
        self._wake.set()
        if job.kind == "query":
            self._last_query = trio.current_time()
            self._interrupting.set()
        self._memory.changed()
        try:
            with trio.move_on_after(patience_s):
                return await job.result()
            late = {"waiting": self._memory_problem(), "loading": "it is being loaded"}.get(self._state)
            late = f": {late}" if late else ""
            raise DeadlineExceededError(f"the model {self.name} gave no answer{late}")
        finally:
            job.abandoned = True
            self._queue.discard(job)
            self._memory.changed()

    async def run(self) -> None:
        """Serve until cancelled; then the process is killed and waiting requests get ShuttingDownError."""
        try:
            while True:
                await self._wait_for_job()
                error = await self._find_refusal()
                if error is not None:
                    self._give_up(error)
                elif await self._back_off() and await self._wait_for_memory():
                    try:
                        await self._one_process()
                    finally:
                        self._memory.release(self)
        finally:
            self._fail(self._queue.take_all(), ShuttingDownError(f"the model {self.name} is being unloaded"))
            self._state = "idle"

    async def _wait_for_job(self, process: ModelProcess | None = None) -> bool:
        """Wait for a text; False if the process died or was idle for too long instead."""
        idle_s = self._settings.keep_alive_s if process and self._settings.keep_alive_s > 0 else math.inf
        with trio.move_on_after(idle_s):
            while not self._queue and not (process and (process.gone.is_set() or self._is_evicted)):
                self._wake = trio.Event()
                await self._wake.wait()
        return len(self._queue) > 0

    async def _find_refusal(self) -> MemdError | None:
        """Return why the model can't be loaded, if that is known without a process; otherwise plan one."""
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
        refusal = self._refusal
        if refusal and refusal.stamp == self._plan.stamp and trio.current_time() < refusal.until:
            return refusal.error
        self._refusal = None
        return None

    async def _back_off(self) -> bool:
        """Wait until a process may be started again; False if no job waits any more."""
        wait_s = self._backoff.wait_s(trio.current_time())
        if wait_s > 0:
            self._state = "restarting"
            if wait_s > self._settings.query_timeout_s and self._problem is not None:
                self._fail(self._queue.take_all("query"), self._problem)
            await trio.sleep(wait_s)
        return len(self._queue) > 0

    async def _wait_for_memory(self) -> bool:
        """Wait for RAM; False if no job waits any more."""
        self._is_evicted = False
        self._state = "waiting"
        entered = await self._memory.admit(self, self._plan.need_bytes)
        self._state = "loading" if entered else "idle"
        return entered

    async def _one_process(self) -> None:
        """Run one process from its start to its end."""
        self.restarts += 1 if self._backoff.failures else 0
        async with trio.open_nursery() as nursery:
            try:
                process = ModelProcess.start(
                    nursery,
                    self.path,
                    context=self._plan.context,
                    threads=self._plan.threads,
                    command=self._settings.command,
                    on_gone=lambda: self._wake.set(),
                )
            except ModelChildError as error:
                self._died(error, *self._queue.take_all())
                return
            self._process = process
            try:
                if await self._load(process):
                    nursery.start_soon(self._interrupt, process)
                    await self._serve(process)
            finally:
                self._process = None
                await process.aclose()
                nursery.cancel_scope.cancel()

    async def _load(self, process: ModelProcess) -> bool:
        """Wait until the model is loaded; False if it can't be."""
        started = trio.current_time()
        try:
            await process.load(self._settings.load_timeout_s)
        except (LocalExtraMissingError, ModelInvalidError) as error:
            self._refusal = Refusal(error, self._plan.stamp, trio.current_time() + REFUSAL_SECONDS)
            self._give_up(error)
            return False
        except ModelChildError as error:
            self._died(error, *self._queue.take_all())
            return False
        self._state = "ready"
        self._loaded_at = self._last_used = trio.current_time()
        seconds = round(trio.current_time() - started, 3)
        log.info("embedding.model_loaded", model=self.name, pid=process.pid, seconds=seconds)
        return True

    async def _serve(self, process: ModelProcess) -> None:
        """Embed texts until the process dies, is evicted or was idle for too long."""
        while await self._wait_for_job(process):
            if process.gone.is_set() or self._is_evicted:
                break
            jobs = self._queue.pop_some(self._max_together(process), self._goes_alone)
            self._under_way = jobs[0]
            try:
                await self._embed(process, jobs)
                self._put_back(jobs)
                self._backoff.succeeded()
                self._problem = None
            except ProviderFailedError as error:
                self._fail([job for job in jobs if not job.is_over], error)
            except ModelChildError as error:
                self._died(error, *(job for job in jobs if not job.is_over))
                return
            except trio.Cancelled:
                self._put_back(jobs)
                raise
            finally:
                self._under_way = None
                self._last_used = trio.current_time()
                self._memory.changed()
        self._state = "idle"
        if process.gone.is_set():
            self._died(ModelChildError(f"the model process of {self.name} ended while it was idle"))
        elif self._is_evicted:
            log.info("embedding.model_evicted", model=self.name, queued=len(self._queue))
        else:
            log.info("embedding.model_unloaded", model=self.name, idle_s=self._settings.keep_alive_s)

    def _max_together(self, process: ModelProcess) -> int:
        """Return how many texts may go in parallel: while queries come a text is done sooner on all threads."""
        is_calm = trio.current_time() - self._last_query >= CALM_SECONDS
        return MAX_TOGETHER if process.lanes > 1 and is_calm else 1

    def _goes_alone(self, job: Job) -> bool:
        """Return whether a text has all threads: its process died over it, or queries interrupted it for too long."""
        return job.tries > 0 or self._is_overdue(job)

    def _is_overdue(self, job: Job) -> bool:
        return trio.current_time() - job.first_tried >= self._settings.interruptible_s

    async def _embed(self, process: ModelProcess, jobs: list[Job]) -> None:
        """Embed a job on all threads, or several in parallel; those that are interrupted aren't over afterwards."""
        begun = trio.current_time()

        def settle(place: int, outcome: Outcome) -> None:
            job = jobs[place]
            if outcome is None:
                job.first_tried = min(job.first_tried, begun)
            elif isinstance(outcome, ProviderFailedError):
                job.fail(outcome)
            else:
                job.finish(outcome)

        is_text = jobs[0].kind == "text"
        share = process.lanes if len(jobs) > 1 else 1  # each has a share of the threads
        await process.embed(
            [job.text for job in jobs],
            self._settings.timeout_s(jobs[0].kind) * share,
            settle,
            interruptible=is_text and not self._is_overdue(jobs[0]),
            background=is_text,
        )

    def _put_back(self, jobs: list[Job]) -> None:
        """Queue the jobs that aren't over again, before all others, in their order."""
        for job in reversed(jobs):
            if not job.is_over and not job.abandoned:
                self._queue.push_back(job)

    async def _interrupt(self, process: ModelProcess) -> None:
        """Have the child cancel its texts whenever a query comes or the model is evicted."""
        while True:
            await self._interrupting.wait()
            self._interrupting = trio.Event()
            await process.interrupt()

    def _died(self, error: ModelChildError, *jobs: Job) -> None:
        """Note a death and back off; jobs that were tried for the first time wait for the next process."""
        wait_s = self._backoff.failed(trio.current_time())
        self._problem = error
        self._state = "restarting"
        log.warning("embedding.model_child_died", error=error.message, retry_s=wait_s, **error.data)
        for job in reversed(jobs):
            job.tries += 1
            if job.tries >= MAX_TRIES:
                job.fail(error)
            elif not job.abandoned:
                self._queue.push_back(job)

    def _give_up(self, error: MemdError) -> None:
        """Fail all waiting jobs for a permanent error."""
        if self._state != "failed":
            log.warning("embedding.model_refused", model=self.name, error=error.message)
        self._state = "failed"
        self._problem = error
        self._fail(self._queue.take_all(), error)

    @staticmethod
    def _fail(jobs: list[Job], error: MemdError) -> None:
        for job in jobs:
            job.fail(error)
