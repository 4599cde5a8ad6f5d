"""Who is loaded, held by whom: one process a model, however many agents use it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import trio

from memd.embedding.local.jobs import FloatArray, Job, Kind, RankJob
from memd.embedding.local.machine import load_memory_bytes
from memd.embedding.local.model_memory import ModelMemoryManager
from memd.embedding.local.policy import ModelStatus, RunnerSettings
from memd.embedding.local.runner import ModelRunner
from memd.settings.memory_budget import MODELS_SHARE
from memd_client.errors import DeadlineExceededError, ShuttingDownError


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model to load.

    `fingerprint` None means: whatever file is there now is the model. `reference` is what the settings name it by,
    empty where that is the path. `ranks` says that it is a reranker, which embeds nothing.
    """

    path: Path
    name: str
    fingerprint: str | None = None
    reference: str = field(default="", compare=False)
    ranks: bool = False


class _Loaded:
    """A runner, its task and the number of its holders."""

    def __init__(self, runner: ModelRunner) -> None:
        self.runner = runner
        self.scope = trio.CancelScope()
        self.holders = 0

    async def run(self) -> None:
        with self.scope:
            await self.runner.run()


class ModelHold:
    """One holder's claim on a model; its process lives no longer than the last claim.

    Made by `ModelOwner.hold`.
    """

    def __init__(self, owner: ModelOwner, file: ModelFile, loaded: _Loaded) -> None:
        self._owner = owner
        self._file = file
        self._loaded = loaded
        self._released = False

    def __repr__(self) -> str:
        return f"<ModelHold {self._file.name}{' released' if self._released else ''}>"

    async def embed(self, text: str, kind: Kind) -> FloatArray:
        """Return a text's raw vector (dims,); see `ModelRunner.ask` for order and errors."""
        return await self._ask(Job(text, kind))

    async def score(
        self, question: str, texts: Sequence[str], timeout_s: float, *, partial: bool = False
    ) -> FloatArray:
        """Return how relevant some texts are to a question, one raw score (n,) each, more for more."""
        job = RankJob(question, texts, timeout_s)
        try:
            return await self._ask(job)
        except DeadlineExceededError:
            first = job.first_scores()
            if partial and first.size:
                return first
            raise

    async def _ask(self, job: Job) -> FloatArray:
        if self._released:
            raise ShuttingDownError(f"the model {self._file.name} was given back")
        return await self._loaded.runner.ask(job)

    def release(self) -> None:
        """Give the model back; a second time does nothing."""
        if not self._released:
            self._released = True
            self._owner._let_go(self._file, self._loaded)


class ModelOwner:
    """Owner of every model process of the daemon.

    Resources: tasks and processes live inside `run`; a model is loaded when the first text waits for it.
    """

    def __init__(self, settings: RunnerSettings | None = None, *, budget_bytes: int = 0) -> None:
        self._settings = settings or RunnerSettings()
        self._room = ModelMemoryManager(budget_bytes or load_memory_bytes() // MODELS_SHARE)
        self._models: dict[ModelFile, _Loaded] = {}
        self._nursery: trio.Nursery | None = None

    def __repr__(self) -> str:
        running = ", ".join(f"{m.runner!r} holders={m.holders}" for m in self._models.values())
        return f"<ModelOwner {'running' if self._nursery else 'stopped'}: {running or 'no model'}>"

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Own the processes until cancelled; when this returns none is left.

        When it fails: a model's failure is told to those who asked, it never ends this.
        """
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                task_status.started()
                await trio.sleep_forever()
        finally:
            self._nursery = None
            self._models.clear()

    def use_settings(self, settings: RunnerSettings, budget_bytes: int) -> None:
        """Use other settings from now on: the memory at once, the manners for models that are loaded anew."""
        self._settings = settings
        self._room.budget_bytes = budget_bytes

    def hold(self, file: ModelFile, *, chunk_tokens: int) -> ModelHold:
        """Claim a model; nothing is loaded by that."""
        if self._nursery is None or self._nursery.cancel_scope.cancel_called:
            raise ShuttingDownError(f"the model {file.name} can't be loaded: the daemon is stopping")
        loaded = self._models.get(file)
        if loaded is None:
            runner = ModelRunner(
                file.path,
                file.name,
                self._settings,
                self._room,
                chunk_tokens=chunk_tokens,
                fingerprint=file.fingerprint,
                ranks=file.ranks,
            )
            loaded = self._models[file] = _Loaded(runner)
            self._nursery.start_soon(loaded.run)
        loaded.holders += 1
        loaded.runner.chunk_tokens = max(loaded.runner.chunk_tokens, chunk_tokens)
        return ModelHold(self, file, loaded)

    def _let_go(self, file: ModelFile, loaded: _Loaded) -> None:
        """Take back one claim; the last one unloads the model."""
        loaded.holders -= 1
        if loaded.holders == 0:
            loaded.scope.cancel()
            if self._models.get(file) is loaded:
                del self._models[file]

    def status(self) -> list[ModelStatus]:
        """Return what each model is doing, by name."""
        return sorted((m.runner.status() for m in self._models.values()), key=lambda status: status.model)
