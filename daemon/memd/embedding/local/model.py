"""A local model: its queue of texts and its process, which is loaded on demand and unloaded when idle.

One task, `LocalModel.run`, embeds one query or one or more texts at a time. If a request is cancelled, its text is
removed from the queue, or its vector is discarded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Literal, NamedTuple

import trio

from memd.embedding.local import fit
from memd.embedding.local.engine import EngineCrashes, EngineUse, GpuLayers, find_engine
from memd.embedding.local.estimate import estimate_model
from memd.embedding.local.extra import engine_problem, engines_crashed_error
from memd.embedding.local.header import FileStamp, load_fingerprint, load_header, load_stamp
from memd.embedding.local.jobs import FloatArray, InferenceJob, JobKind, JobQueue
from memd.embedding.local.process import (
    BACKOFF_FIRST_SECONDS,
    BACKOFF_MAX_SECONDS,
    MAX_TOGETHER,
    ModelProcess,
    ModelSettings,
    Outcome,
)
from memd.system.back_off import back_off_s
from memd.system.log import log
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
from memd_client.reports import ModelStatus

QUERY_QUIET_SECONDS: Final = 1.0
"""For this time after a query texts are embedded one at a time: texts in parallel take longer, so the next query would
interrupt them, and the computation would be lost."""

PERMANENT_FAILURE_SECONDS: Final = 60.0
"""For this time a permanent error isn't checked again, unless the file changes. A missing package may get installed."""

MAX_TRIES: Final = 2
"""Tries of a text whose process died: the text may be the cause."""

MIN_IDLE_SECONDS: Final = 0.5
"""A model counts as idle after this time without work: between texts of a batch it is idle for an instant."""

MIN_LOADED_QUERY_SECONDS: Final = 1.0
MIN_LOADED_TEXT_SECONDS: Final = 20.0
"""How long a model with texts to embed stays loaded at least, if a query or a text waits for another model. Loading
takes about a second, and models must not spend most time on it."""

State = Literal["idle", "waiting", "loading", "ready", "restarting", "failed"]


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model to load.

    `fingerprint` None accepts any contents of the file. `reference` is the model's reference, empty if it is the path.
    A model with different numbers of layers on a GPU has a process for each.
    """

    path: Path
    name: str
    fingerprint: str | None = None
    gpu_layers: GpuLayers = "auto"
    reference: str = field(default="", compare=False)


class LoadPlan(NamedTuple):
    """The parameters of a model process, its estimated RAM, the stamp of its file, and engines that crashed."""

    stamp: FileStamp = FileStamp(0, 0, 0)
    context: int = 0
    threads: int = 0
    need_bytes: int = 0
    excluded: tuple[str, ...] = ()


def load_plan(spec: ModelSpec, crashes: EngineCrashes, *, chunk_tokens: int, threads: int) -> LoadPlan:
    """Return how to start a model; raise if it or every engine is unusable. Blocks on disk."""
    stamp = load_stamp(spec.path)
    header = load_header(spec.path)
    if spec.fingerprint is not None and load_fingerprint(spec.path) != spec.fingerprint:
        raise ModelInvalidError(
            f"{spec.path} was replaced by another file",
            hint="wait for the next check of the settings, which detects the new file",
        )
    estimate = estimate_model(stamp.size, header, chunk_tokens=chunk_tokens)
    threads = fit.thread_count(threads, fit.load_physical_cores())
    excluded = crashes.packages()
    if excluded and find_engine(excluded) is None:
        raise engines_crashed_error(excluded)
    return LoadPlan(stamp, estimate.context, threads, estimate.peak_bytes, excluded)


class LocalModel:
    """A model with its queue and its process; `ModelOwner` creates it and decides when it may be loaded.

    `users` is the number of providers that use it. `on_change` is called when its work or its RAM changes, `ram_limit`
    returns the RAM of all models together. All models share `crashes`.
    """

    def __init__(
        self,
        spec: ModelSpec,
        settings: ModelSettings,
        crashes: EngineCrashes,
        *,
        chunk_tokens: int,
        on_change: Callable[[], None],
        ram_limit: Callable[[], int],
    ) -> None:
        self.spec = spec
        self.chunk_tokens = chunk_tokens
        self.users = 0
        self.has_ram = False
        self.is_evicted = False
        self.waiting_since = self.last_used = -math.inf
        self._settings = settings
        self._crashes = crashes
        self._engine = EngineUse()
        self._on_change = on_change
        self._ram_limit = ram_limit
        self._scope = trio.CancelScope()
        self._queue = JobQueue()
        self._wake = trio.Event()
        self._interrupt_requested = trio.Event()
        self._process: ModelProcess | None = None
        self._state: State = "idle"
        self._problem: MemdError | None = None
        self._permanent: MemdError | None = None
        self._permanent_until = -math.inf
        self._plan = LoadPlan()
        self._under_way: InferenceJob | None = None
        self._loaded_at = self._last_query = self._not_before = -math.inf
        self._failures = 0
        self._restarts = 0
        self._disk = trio.CapacityLimiter(1)

    def __repr__(self) -> str:
        return f"<LocalModel {self.spec.name} {self._state} users={self.users} queued={len(self._queue)}>"

    def status(self) -> ModelStatus:
        """Return the model's status; reads /proc."""
        pid = self._process.pid if self._process else None
        problem = self._ram_problem() or engine_problem(self._engine, self._crashes, self.spec.gpu_layers)
        return ModelStatus(
            model=self.spec.name,
            path=str(self.spec.path),
            state=self._state,
            pid=pid,
            rss_bytes=fit.load_rss_bytes(pid) if pid else 0,
            queued=len(self._queue),
            restarts=self._restarts,
            problem=self._problem.message if self._problem else problem,
            engine=self._engine.package,
            has_gpu=self._engine.has_gpu,
            gpu_layers=self._engine.gpu_layers,
        )

    def _ram_problem(self) -> str:
        """Return the status text if the RAM limit is too small for the model; else an empty one."""
        limit, is_waiting = self._ram_limit(), self._state == "waiting"
        if not is_waiting and self.need_bytes <= limit:
            return ""
        action = "it waits until other models are idle" if is_waiting else "it is loaded alone"
        return f"it needs about {size(self.need_bytes)}, and models may use {size(limit)} together: {action}"

    # --- RAM, as `ModelOwner` divides it -----------------------------------------------------------

    @property
    def need_bytes(self) -> int:
        """The estimated RAM of its process."""
        return self._plan.need_bytes

    @property
    def waits_for(self) -> JobKind | None:
        """The kind of the most urgent job for which it waits to be loaded; None if it doesn't wait."""
        return self._queue.next_kind() if self._state == "waiting" and not self.has_ram else None

    @property
    def work(self) -> JobKind | None:
        """The kind of the job under way, else of the next one."""
        return self._under_way.kind if self._under_way else self._queue.next_kind()

    def stays_loaded_s(self, kind: JobKind) -> float:
        """Return for how many seconds it stays loaded although a job of this kind waits for another model."""
        now = trio.current_time()
        if self._state != "ready" or self.work == "query":
            return math.inf
        if self.work is None:
            return self.last_used + (0.0 if kind == "query" else MIN_IDLE_SECONDS) - now
        least = MIN_LOADED_QUERY_SECONDS if kind == "query" else MIN_LOADED_TEXT_SECONDS
        return self._loaded_at + least - now

    def grant_ram(self) -> None:
        """Let the model start its process."""
        self.has_ram = True
        self._wake.set()

    def evict(self) -> None:
        """Request the end of the process; interrupts its text if possible."""
        self.is_evicted = True
        self._interrupt_requested.set()
        self._wake.set()

    # --- requests ----------------------------------------------------------------------------------

    async def embed(self, text: str, kind: JobKind) -> FloatArray:
        """Return the raw vector (dims,) of a text.

        Queries have priority, and interrupt a text under way.

        Cancellation: removes the job; other requests aren't affected.
        """
        if self._scope.cancel_called:
            raise self._unloaded_error()
        ahead = len(self._queue) if kind == "text" else 0
        timeout_s = self._settings.request_timeout_s(kind) + ahead * self._settings.text_timeout_s
        wait_s = self._backoff_left_s()
        if kind == "query" and wait_s > self._settings.query_timeout_s and self._problem is not None:
            raise ModelChildError(f"{self._problem.message}; restart in {wait_s:.0f} s")
        job = InferenceJob(text, kind)
        self._queue.push(job)
        self._wake.set()
        if kind == "query":
            self._last_query = trio.current_time()
            self._interrupt_requested.set()
        self._on_change()
        try:
            with trio.move_on_after(timeout_s):
                return await job.result()
            reason = {"waiting": self._ram_problem(), "loading": "it is loading"}.get(self._state)
            reason = f": {reason}" if reason else ""
            raise DeadlineExceededError(f"timed out waiting for model {self.spec.name}{reason}")
        finally:
            job.abandoned = True
            self._queue.discard(job)
            self._wake.set()
            self._on_change()

    def stop(self) -> None:
        """End `run` and the process; waiting and later requests raise ShuttingDownError."""
        self._scope.cancel()

    async def run(self) -> None:
        """Embed texts until `stop`."""
        try:
            with self._scope:
                while True:
                    await self._wait_for_job()
                    if await self._make_plan() and await self._back_off():
                        await self._load_and_serve()
        finally:
            self._fail(self._queue.take_all(), self._unloaded_error())
            self._state = "idle"

    def _unloaded_error(self) -> ShuttingDownError:
        return ShuttingDownError(f"model {self.spec.name} is being unloaded")

    async def _wait_for_job(self, process: ModelProcess | None = None) -> bool:
        """Wait for a job; False on exit, eviction or idle timeout of the process."""
        idle_s = self._settings.keep_alive_s if process and self._settings.keep_alive_s > 0 else math.inf
        with trio.move_on_after(idle_s):
            while not self._queue and not (process and (process.exited.is_set() or self.is_evicted)):
                self._wake = trio.Event()
                await self._wake.wait()
        return len(self._queue) > 0

    # --- starting the process ----------------------------------------------------------------------

    async def _make_plan(self) -> bool:
        """Plan the process; False if the model is known to be unusable."""
        chunk_tokens, threads = self.chunk_tokens, self._settings.threads
        load = partial(load_plan, self.spec, self._crashes, chunk_tokens=chunk_tokens, threads=threads)
        stamp = self._plan.stamp
        try:
            self._plan = await trio.to_thread.run_sync(load, limiter=self._disk)
        except MemdError as error:
            self._fail_permanently(error)
            return False
        is_over = stamp != self._plan.stamp or trio.current_time() >= self._permanent_until
        if self._permanent is not None and not is_over:
            self._fail_permanently(self._permanent)
            return False
        self._permanent = None
        return True

    def _backoff_left_s(self) -> float:
        """Return how long the process isn't started after its end."""
        return max(0.0, self._not_before - trio.current_time())

    async def _back_off(self) -> bool:
        """Wait for the back-off; False if no job waits any more."""
        wait_s = self._backoff_left_s()
        if wait_s > 0:
            self._state = "restarting"
            if wait_s > self._settings.query_timeout_s and self._problem is not None:
                self._fail(self._queue.take_all("query"), self._problem)
            await trio.sleep(wait_s)
        return len(self._queue) > 0

    async def _load_and_serve(self) -> None:
        """Wait for RAM, then run the process until its end."""
        self.is_evicted = False
        self._state, self.waiting_since = "waiting", trio.current_time()
        self._on_change()
        try:
            while self._queue and not self.has_ram:
                self._wake = trio.Event()
                await self._wake.wait()
            self._state = "loading" if self._queue else "idle"
            if self._queue:
                await self._run_process()
        finally:
            self.has_ram = False
            self._on_change()

    async def _run_process(self) -> None:
        """Start a process and run it until its end."""
        self._restarts += 1 if self._failures else 0
        async with trio.open_nursery() as nursery:
            try:
                process = ModelProcess.start(
                    nursery,
                    self.spec.path,
                    context=self._plan.context,
                    threads=self._plan.threads,
                    gpu_layers=self.spec.gpu_layers,
                    excluded=self._plan.excluded,
                    command=self._settings.command,
                    on_exit=lambda: self._wake.set(),
                )
            except ModelChildError as error:
                self._record_death(error, *self._queue.take_all())
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
        package = process.engine.package
        if package and process.has_illegal_instruction and self._crashes.add(package):
            log.warning("embedding.engine_crashed", engine=package, model=self.spec.name)

    async def _load(self, process: ModelProcess) -> bool:
        """Wait until the model is loaded; False if that fails."""
        started = trio.current_time()
        try:
            await process.load(self._settings.load_timeout_s)
        except (LocalExtraMissingError, ModelInvalidError) as error:
            self._permanent = error
            self._permanent_until = trio.current_time() + PERMANENT_FAILURE_SECONDS
            self._fail_permanently(error)
            return False
        except ModelChildError as error:
            self._record_death(error, *self._queue.take_all())
            return False
        self._state, self._engine = "ready", process.engine
        self._loaded_at = self.last_used = trio.current_time()
        seconds = round(trio.current_time() - started, 3)
        log.info(
            "embedding.model_loaded",
            model=self.spec.name,
            pid=process.pid,
            seconds=seconds,
            engine=process.engine.package,
            gpu_layers=process.engine.gpu_layers,
        )
        return True

    # --- embedding ---------------------------------------------------------------------------------

    async def _serve(self, process: ModelProcess) -> None:
        """Embed texts until the process dies, is evicted, or was idle for `keep_alive_s`."""
        while await self._wait_for_job(process):
            if process.exited.is_set() or self.is_evicted:
                break
            jobs = self._queue.pop_some(self._max_together(process), self._needs_all_threads)
            self._under_way = jobs[0]
            try:
                await self._embed_jobs(process, jobs)
                self._put_back(jobs)
                self._failures = 0
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
                self.last_used = trio.current_time()
                self._on_change()
        self._state = "idle"
        if process.exited.is_set():
            self._record_death(ModelChildError(f"the model process of {self.spec.name} ended while idle"))
        elif self.is_evicted:
            log.info("embedding.model_evicted", model=self.spec.name, queued=len(self._queue))
        else:
            log.info("embedding.model_unloaded", model=self.spec.name, idle_s=self._settings.keep_alive_s)

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
        self._failures += 1
        wait_s = back_off_s(self._failures, BACKOFF_FIRST_SECONDS, BACKOFF_MAX_SECONDS)
        self._not_before = trio.current_time() + wait_s
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
            log.warning("embedding.model_refused", model=self.spec.name, error=error.message)
        self._state = "failed"
        self._problem = error
        self._fail(self._queue.take_all(), error)

    @staticmethod
    def _fail(jobs: list[InferenceJob], error: MemdError) -> None:
        for job in jobs:
            job.fail(error)
