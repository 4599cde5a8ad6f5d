"""One model's life: loaded when a text waits, restarted when it dies, stopped when idle.

The one task of `ModelRunner.run` does it all, one text at a time, so a cancelled request leaves
nothing half done: its text is dropped from the queue, or its answer is dropped when it comes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog
import trio

from memd.embedding.model import fit
from memd.embedding.model.header import FileStamp, load_fingerprint, load_header, load_stamp
from memd.embedding.model.jobs import FloatArray, Job, JobQueue, Kind
from memd.embedding.model.machine import load_physical_cores, load_rss_bytes
from memd.embedding.model.policy import Backoff, ModelStatus, RunnerSettings, State
from memd.embedding.model.process import ModelProcess
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

MAX_TRIES: Final = 2
"""A text that was in the child when it died is tried once more: it may be the cause."""

REFUSAL_SECONDS: Final = 60.0
"""How long a permanent error is believed while the file stays the same: the extra may get installed."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a process is to be started, and the file it was planned for."""

    stamp: FileStamp
    context: int
    threads: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """A permanent error, believed `until` a moment of trio's clock while the file keeps its stamp."""

    error: MemdError
    stamp: FileStamp
    until: float


class ModelRunner:
    """The queue before one model, and the process behind it.

    Args:
        path: The model file.
        name: What people call the model.
        settings: Deadlines and manners.
        chunk_tokens: The chunk limit, in estimated tokens; the context follows from it.
        fingerprint: What the file's fingerprint must be when it is loaded, None where any will do.
            A file that was replaced must not fill the old one's vector space.
    """

    def __init__(
        self, path: Path, name: str, settings: RunnerSettings, *, chunk_tokens: int, fingerprint: str | None
    ) -> None:
        self.path = path
        self.name = name
        self.chunk_tokens = chunk_tokens
        self._settings = settings
        self._fingerprint = fingerprint
        self._queue = JobQueue()
        self._wake = trio.Event()
        self._query_came = trio.Event()
        self._process: ModelProcess | None = None
        self._state: State = "idle"
        self._problem: MemdError | None = None
        self._refusal: Refusal | None = None
        self._plan = Plan(FileStamp(0, 0, 0), context=0, threads=0)
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
            problem=self._problem.message if self._problem else None,
        )

    async def embed(self, text: str, kind: Kind) -> FloatArray:
        """Return a text's raw vector (dims,): after the queries before it; a query has the text before it given up.

        Raises:
            LocalExtraMissingError, ModelMissingError, ModelInvalidError: The model can't be loaded.
            ModelChildError: Its process died or hung twice over this text, or has died so often that
                a query is better answered without it.
            ProviderFailedError: This text can't be embedded.
            DeadlineExceededError: It took longer than any of that explains.
            ShuttingDownError: The model is being given up.

        Cancellation: the text is dropped; the process and the other requests notice nothing.
        """
        wait_s = self._backoff.wait_s(trio.current_time())
        if kind == "query" and wait_s > self._settings.query_timeout_s and self._problem is not None:
            raise ModelChildError(f"{self._problem.message}; it is started again in {wait_s:.0f} s")
        job = Job(text, kind)
        self._queue.push(job)
        self._wake.set()
        if kind == "query":
            self._query_came.set()
        try:
            with trio.move_on_after(self._settings.patience_s(kind)):
                return await job.result()
            raise DeadlineExceededError(f"the model {self.name} gave no answer")
        finally:
            job.abandoned = True
            self._queue.discard(job)

    async def run(self) -> None:
        """Serve until cancelled; then the process is killed and whoever waits gets ShuttingDownError."""
        try:
            while True:
                await self._wait_for_job()
                error = await self._find_refusal()
                if error is not None:
                    self._give_up(error)
                elif await self._back_off():
                    await self._one_process()
        finally:
            self._fail(self._queue.take_all(), ShuttingDownError(f"the model {self.name} is being unloaded"))
            self._state = "idle"

    async def _wait_for_job(self, process: ModelProcess | None = None) -> bool:
        """Wait for a text; False where the process died or was idle for too long instead."""
        idle_s = self._settings.keep_alive_s if process and self._settings.keep_alive_s > 0 else math.inf
        with trio.move_on_after(idle_s):
            while not self._queue and not (process and process.gone.is_set()):
                self._wake = trio.Event()
                await self._wake.wait()
        return len(self._queue) > 0

    async def _find_refusal(self) -> MemdError | None:
        """Return why the model can't be loaded, where that is known without a process; else plan one."""
        try:
            self._plan = await trio.to_thread.run_sync(self._load_plan, limiter=self._disk)
        except MemdError as error:
            return error
        refusal = self._refusal
        if refusal and refusal.stamp == self._plan.stamp and trio.current_time() < refusal.until:
            return refusal.error
        self._refusal = None
        return None

    def _load_plan(self) -> Plan:
        stamp = load_stamp(self.path)
        header = load_header(self.path)
        if self._fingerprint is not None and load_fingerprint(self.path) != self._fingerprint:
            raise ModelInvalidError(
                f"{self.path} is another file than the one that was chosen",
                hint="Nothing to do: the daemon notices the new file with its next look at the settings.",
            )
        return Plan(
            stamp,
            context=fit.context_tokens(self.chunk_tokens, header.trained_tokens),
            threads=fit.thread_count(self._settings.threads, load_physical_cores()),
        )

    async def _back_off(self) -> bool:
        """Wait until a process may be started again; False where nobody waits any more."""
        wait_s = self._backoff.wait_s(trio.current_time())
        if wait_s > 0:
            self._state = "restarting"
            if wait_s > self._settings.query_timeout_s and self._problem is not None:
                self._fail(self._queue.take_all("query"), self._problem)
            await trio.sleep(wait_s)
        return len(self._queue) > 0

    async def _one_process(self) -> None:
        """Run one process from its start to its end."""
        self._state = "loading"
        self.restarts += 1 if self._backoff.failures else 0
        async with trio.open_nursery() as nursery:
            try:
                process = ModelProcess.start(
                    nursery,
                    self.path,
                    context=self._plan.context,
                    threads=self._plan.threads,
                    command=self._settings.command,
                    on_gone=self._wake_up,
                )
            except ModelChildError as error:
                self._died(error, *self._queue.take_all())
                return
            self._process = process
            try:
                if await self._load(process):
                    nursery.start_soon(self._interrupt_for_queries, process)
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
        seconds = round(trio.current_time() - started, 3)
        log.info("embedding.model_loaded", model=self.name, pid=process.pid, seconds=seconds)
        return True

    async def _serve(self, process: ModelProcess) -> None:
        """Embed one text after the other until the process dies or nobody needs it."""
        while await self._wait_for_job(process):
            if process.gone.is_set():
                break
            job = self._queue.pop()
            now = trio.current_time()
            job.first_tried = min(job.first_tried, now)
            may_stop = job.kind == "text" and now - job.first_tried < self._settings.interruptible_s
            try:
                timeout_s = self._settings.timeout_s(job.kind)
                vector = await process.embed(job.text, timeout_s, interruptible=may_stop)
                if vector is not None:
                    job.finish(vector)
                elif not job.abandoned:
                    self._queue.push_back(job)
                self._backoff.succeeded()
                self._problem = None
            except ProviderFailedError as error:
                job.fail(error)
            except ModelChildError as error:
                self._died(error, job)
                return
            except trio.Cancelled:
                self._queue.push_back(job)
                raise
        self._state = "idle"
        if process.gone.is_set():
            self._died(ModelChildError(f"the model process of {self.name} ended while it was idle"))
        else:
            log.info("embedding.model_unloaded", model=self.name, idle_s=self._settings.keep_alive_s)

    async def _interrupt_for_queries(self, process: ModelProcess) -> None:
        """Have the child give up its text whenever a query comes."""
        while True:
            await self._query_came.wait()
            self._query_came = trio.Event()
            await process.interrupt()

    def _wake_up(self) -> None:
        self._wake.set()

    def _died(self, error: ModelChildError, *jobs: Job) -> None:
        """Note a death and put off the next start; jobs that were tried for the first time wait for it."""
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
