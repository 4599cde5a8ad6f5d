"""One model's life: loaded when a text waits, restarted when it dies, stopped when idle.

The one task of `ModelRunner.run` does it all: one query at a time, or one text, or some texts that
go through the process side by side. A cancelled request leaves nothing half done: its text is dropped
from the queue, or its answer is dropped when it comes.
"""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Final

import structlog
import trio

from memd.embedding.local.jobs import FloatArray, Job, JobQueue, Kind, RankJob
from memd.embedding.local.machine import load_rss_bytes
from memd.embedding.local.model_memory import ModelMemoryManager, Residency, Work
from memd.embedding.local.plan import NO_PLAN, Refusal, load_plan
from memd.embedding.local.policy import Backoff, ModelStatus, RunnerSettings, State
from memd.embedding.local.process import MOST_TOGETHER, ModelProcess, Outcome
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
"""How long after a question texts still go one by one: two on half the threads each would rarely get done
between two questions, and all that was computed is lost."""

REFUSAL_SECONDS: Final = 60.0
"""How long a permanent error is believed while the file stays the same: the extra may get installed."""


class ModelRunner:
    """The queue before one model, and the process behind it."""

    def __init__(
        self,
        path: Path,
        name: str,
        settings: RunnerSettings,
        room: ModelMemoryManager,
        *,
        chunk_tokens: int,
        fingerprint: str | None,
        ranks: bool = False,
    ) -> None:
        self.path = path
        self.name = name
        self.chunk_tokens = chunk_tokens
        self._settings = settings
        self._room = room
        self._fingerprint = fingerprint
        self._ranks = ranks
        self._queue = JobQueue()
        self._wake = trio.Event()
        self._gives_way = trio.Event()
        self._process: ModelProcess | None = None
        self._state: State = "idle"
        self._problem: MemdError | None = None
        self._refusal: Refusal | None = None
        self._plan = NO_PLAN
        self._under_way: Job | None = None
        self._loaded_at = self._last_used = self._last_query = -math.inf
        self._makes_room = False
        self._backoff = Backoff()
        self._disk = trio.CapacityLimiter(1)
        self.restarts = 0

    def __repr__(self) -> str:
        return f"<ModelRunner {self.name} {self._state} queued={len(self._queue)} restarts={self.restarts}>"

    def status(self) -> ModelStatus:
        """Return what the model is doing now; reads /proc, never waits."""
        pid = self._process.pid if self._process else None
        return ModelStatus(
            model=self.name,
            path=str(self.path),
            state=self._state,
            pid=pid,
            rss_bytes=load_rss_bytes(pid) if pid else 0,
            queued=len(self._queue),
            restarts=self.restarts,
            problem=self._problem.message if self._problem else self._lack_of_room(),
        )

    def _lack_of_room(self) -> str | None:
        """Return what is to be said of the model's share of the memory, where something is."""
        need, budget = self._plan.need_bytes, self._room.budget_bytes
        then = "it waits until others are idle" if self._state == "waiting" else "it is loaded alone"
        text = f"it needs about {size(need)}, and models may use {size(budget)} together: {then}"
        return text if self._state == "waiting" or need > budget else None

    def stay(self, need: int) -> Residency:
        """Return what the model is doing in memory."""
        work: Work = (self._under_way.kind if self._under_way else self._queue.next_kind()) or "nothing"
        if self._state != "ready":
            work = "loading"
        return Residency(need, self._loaded_at, self._last_used, work, is_leaving=self._makes_room)

    def waits_for(self) -> Kind | None:
        """Return what waits for the model, the most urgent.

        What waits for a reranker is less so than any question: that must not lose its model to it.
        """
        kind = self._queue.next_kind()
        return "text" if kind and self._ranks else kind

    def make_room(self) -> None:
        """End the process as soon as the text under way is done, or given up where it may be."""
        self._makes_room = True
        self._gives_way.set()
        self._wake.set()

    async def ask(self, job: Job) -> FloatArray:
        """Return what a job asks for: the raw vector (dims,) of its text, or a raw score a text (n,) of a `RankJob`.

        It comes after the queries before it; a query has the text before it given up.

        Cancellation: the job is dropped; the process and the other requests notice nothing.
        """
        ahead = len(self._queue) if job.kind == "text" else 0
        patience_s = self._settings.patience_s(job.kind) + ahead * self._settings.text_timeout_s
        hurry_s = self._settings.query_timeout_s
        if isinstance(job, RankJob):
            patience_s = hurry_s = job.timeout_s
        wait_s = self._backoff.wait_s(trio.current_time())
        if job.kind == "query" and wait_s > hurry_s and self._problem is not None:
            raise ModelChildError(f"{self._problem.message}; it is started again in {wait_s:.0f} s")
        self._queue.push(job)
        self._wake.set()
        if job.kind == "query" and not self._ranks:
            self._last_query = trio.current_time()
            self._gives_way.set()
        self._room.changed()
        try:
            with trio.move_on_after(patience_s):
                return await job.result()
            late = {"waiting": self._lack_of_room(), "loading": "it is being loaded"}.get(self._state)
            late = f": {late}" if late else ""
            raise DeadlineExceededError(f"the model {self.name} gave no answer{late}")
        finally:
            job.abandoned = True
            self._queue.discard(job)
            if self._ranks and self._under_way is job:
                self._gives_way.set()
            self._room.changed()

    async def run(self) -> None:
        """Serve until cancelled; then the process is killed and whoever waits gets ShuttingDownError."""
        try:
            while True:
                await self._wait_for_job()
                error = await self._find_refusal()
                if error is not None:
                    self._give_up(error)
                elif await self._back_off() and await self._find_room():
                    try:
                        await self._one_process()
                    finally:
                        self._room.leave(self)
        finally:
            self._fail(self._queue.take_all(), ShuttingDownError(f"the model {self.name} is being unloaded"))
            self._state = "idle"

    async def _wait_for_job(self, process: ModelProcess | None = None) -> bool:
        """Wait for a text; False where the process died or was idle for too long instead."""
        idle_s = self._settings.keep_alive_s if process and self._settings.keep_alive_s > 0 else math.inf
        with trio.move_on_after(idle_s):
            while not self._queue and not (process and (process.gone.is_set() or self._makes_room)):
                self._wake = trio.Event()
                await self._wake.wait()
        return len(self._queue) > 0

    async def _find_refusal(self) -> MemdError | None:
        """Return why the model can't be loaded, where that is known without a process; else plan one."""
        load = partial(
            load_plan,
            self.path,
            fingerprint=self._fingerprint,
            chunk_tokens=self.chunk_tokens,
            threads=self._settings.threads,
            ranks=self._ranks,
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
        """Wait until a process may be started again; False where nobody waits any more."""
        wait_s = self._backoff.wait_s(trio.current_time())
        if wait_s > 0:
            self._state = "restarting"
            if wait_s > self._settings.query_timeout_s and self._problem is not None:
                self._fail(self._queue.take_all("query"), self._problem)
            await trio.sleep(wait_s)
        return len(self._queue) > 0

    async def _find_room(self) -> bool:
        """Wait for room in memory; False where nobody waits for the model any more."""
        self._makes_room = False
        self._state = "waiting"
        entered = await self._room.enter(self, self._plan.need_bytes)
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
                    ranks=self._ranks,
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
        """Wait until the model is loaded; False where it won't be."""
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
        """Embed one text after the other until the process dies or nobody needs it."""
        while await self._wait_for_job(process):
            if process.gone.is_set() or self._makes_room:
                break
            jobs = self._queue.pop_some(self._most_together(process), self._goes_alone)
            self._under_way = jobs[0]
            try:
                if len(jobs) == 1:
                    await self._embed_one(process, jobs[0])
                else:
                    await self._embed_some(process, jobs)
                self._put_back(jobs)
                self._backoff.succeeded()
                self._problem = None
            except ProviderFailedError as error:
                jobs[0].fail(error)
            except ModelChildError as error:
                self._died(error, *(job for job in jobs if not job.is_over))
                return
            except trio.Cancelled:
                self._put_back(jobs)
                raise
            finally:
                self._under_way = None
                self._last_used = trio.current_time()
                self._room.changed()
        self._state = "idle"
        if process.gone.is_set():
            self._died(ModelChildError(f"the model process of {self.name} ended while it was idle"))
        elif self._makes_room:
            log.info("embedding.model_made_room", model=self.name, queued=len(self._queue))
        else:
            log.info("embedding.model_unloaded", model=self.name, idle_s=self._settings.keep_alive_s)

    def _most_together(self, process: ModelProcess) -> int:
        """Return how many texts may go side by side: while questions come a text is done sooner on all threads."""
        is_calm = trio.current_time() - self._last_query >= CALM_SECONDS
        return MOST_TOGETHER if process.lanes > 1 and is_calm else 1

    def _goes_alone(self, job: Job) -> bool:
        """Return whether a text has all threads: its process died over it, or it was put off for too long."""
        return job.tries > 0 or self._is_overdue(job)

    def _is_overdue(self, job: Job) -> bool:
        return trio.current_time() - job.first_tried >= self._settings.interruptible_s

    async def _embed_one(self, process: ModelProcess, job: Job) -> None:
        """Embed a text on all threads, or score a job's texts; where it is given up it isn't over afterwards."""
        timeout_s = self._settings.timeout_s(job.kind)
        if isinstance(job, RankJob):
            if await process.score(job.text, job.texts, job.timeout_s + timeout_s, job.scores):
                job.finish(job.first_scores())
            return
        job.first_tried = min(job.first_tried, trio.current_time())
        may_stop = job.kind == "text" and not self._is_overdue(job)
        vector = await process.embed(job.text, timeout_s, interruptible=may_stop, waits=job.kind == "text")
        if vector is not None:
            job.finish(vector)

    async def _embed_some(self, process: ModelProcess, jobs: list[Job]) -> None:
        """Embed texts side by side; those that are given up aren't over afterwards."""
        begun = trio.current_time()

        def tell(place: int, outcome: Outcome) -> None:
            if outcome is None:
                jobs[place].first_tried = min(jobs[place].first_tried, begun)
            elif isinstance(outcome, ProviderFailedError):
                jobs[place].fail(outcome)
            else:
                jobs[place].finish(outcome)

        timeout_s = self._settings.text_timeout_s * process.lanes  # each has a share of the threads
        await process.embed_many([job.text for job in jobs], timeout_s, tell, interruptible=True)

    def _put_back(self, jobs: list[Job]) -> None:
        """Queue the jobs that aren't over again, before all others, in their order."""
        for job in reversed(jobs):
            if not job.is_over and not job.abandoned:
                self._queue.push_back(job)

    async def _interrupt(self, process: ModelProcess) -> None:
        """Have the child give up what it has whenever a query comes, or nobody waits for the scores any more."""
        while True:
            await self._gives_way.wait()
            self._gives_way = trio.Event()
            await process.interrupt()

    def _died(self, error: ModelChildError, *jobs: Job) -> None:
        """Note a death and put off the next start; jobs that were tried for the first time wait for it."""
        wait_s = self._backoff.failed(trio.current_time())
        self._problem = error
        self._state = "restarting"
        log.warning("embedding.model_child_died", error=error.message, retry_s=wait_s, **error.data)
        for job in reversed(jobs):
            job.tries += 1
            if job.tries >= job.most_tries:
                job.fail(error)
            elif not job.abandoned:
                self._queue.push_back(job)

    def _give_up(self, error: MemdError) -> None:
        """Fail everything that waits for a reason that a restart doesn't mend."""
        if self._state != "failed":
            log.warning("embedding.model_refused", model=self.name, error=error.message)
        self._state = "failed"
        self._problem = error
        self._fail(self._queue.take_all(), error)

    @staticmethod
    def _fail(jobs: list[Job], error: MemdError) -> None:
        for job in jobs:
            job.fail(error)
