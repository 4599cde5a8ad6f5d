"""Model processes, shared by all agents, and the local embedding provider."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import trio

from memd.embedding.local.fit import load_memory_bytes
from memd.embedding.local.jobs import InferenceJob, JobKind
from memd.embedding.local.model_memory import ModelMemoryManager
from memd.embedding.local.process import RunnerSettings
from memd.embedding.local.runner import ModelRunner, RunnerStatus
from memd.embedding.provider import BatchLimits, FloatArray, encodable, unit_vector
from memd.embedding.space import VectorSpace, recipe_of
from memd.settings.ram_budget import MODELS_SHARE
from memd_client.errors import MemdError, ShuttingDownError

LIMITS: Final = BatchLimits(max_texts=16, max_tokens=1_000_000, max_text_tokens=1_000_000, concurrency=1)
"""Long texts are split in the model process. Small batches keep progress current and are fair to other agents."""


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model to load.

    `fingerprint` None accepts any contents of the file. `reference` is the model's reference, empty if it is the path.
    """

    path: Path
    name: str
    fingerprint: str | None = None
    reference: str = field(default="", compare=False)


class _SharedRunner:
    """A runner, the scope of its task, and the number of its leases."""

    def __init__(self, runner: ModelRunner) -> None:
        self.runner = runner
        self.scope = trio.CancelScope()
        self.leases = 0

    async def run(self) -> None:
        with self.scope:
            await self.runner.run()


class ModelLease:
    """The right to use a model; its process ends with the last lease."""

    def __init__(self, owner: ModelOwner, file: LocalModel, loaded: _SharedRunner) -> None:
        self._owner = owner
        self._file = file
        self._loaded = loaded
        self._released = False

    def __repr__(self) -> str:
        return f"<ModelLease {self._file.name}{' released' if self._released else ''}>"

    async def embed(self, text: str, kind: JobKind) -> FloatArray:
        """Return a text's raw vector (dims,); see `ModelRunner.embed`."""
        if self._released:
            raise ShuttingDownError(f"the lease of model {self._file.name} was released")
        return await self._loaded.runner.embed(InferenceJob(text, kind))

    def release(self) -> None:
        """Release the model; idempotent."""
        if not self._released:
            self._released = True
            self._owner._end_lease(self._file, self._loaded)


class ModelOwner:
    """Owner of all model processes of the daemon.

    Resources: tasks and processes live inside `run`; a model is loaded for the first text.
    """

    def __init__(self, settings: RunnerSettings | None = None, *, budget_bytes: int = 0) -> None:
        self._settings = settings or RunnerSettings()
        self._memory = ModelMemoryManager(budget_bytes or load_memory_bytes() // MODELS_SHARE)
        self._models: dict[LocalModel, _SharedRunner] = {}
        self._nursery: trio.Nursery | None = None

    def __repr__(self) -> str:
        running = ", ".join(f"{m.runner!r} leases={m.leases}" for m in self._models.values())
        return f"<ModelOwner {'running' if self._nursery else 'stopped'}: {running or 'no model'}>"

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run the model processes until cancelled; all have ended when this returns.

        Failures of a model are raised by its requests only.
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
        """Change the settings: the RAM budget at once, the rest for models leased later."""
        self._settings = settings
        self._memory.budget_bytes = budget_bytes

    def lease(self, file: LocalModel, *, chunk_tokens: int) -> ModelLease:
        """Return a lease of a model; loads nothing."""
        if self._nursery is None or self._nursery.cancel_scope.cancel_called:
            raise ShuttingDownError(f"model {file.name} can't be loaded: the daemon is stopping")
        loaded = self._models.get(file)
        if loaded is None:
            runner = ModelRunner(
                file.path,
                file.name,
                self._settings,
                self._memory,
                chunk_tokens=chunk_tokens,
                fingerprint=file.fingerprint,
            )
            loaded = self._models[file] = _SharedRunner(runner)
            self._nursery.start_soon(loaded.run)
        loaded.leases += 1
        loaded.runner.chunk_tokens = max(loaded.runner.chunk_tokens, chunk_tokens)
        return ModelLease(self, file, loaded)

    def _end_lease(self, file: LocalModel, loaded: _SharedRunner) -> None:
        """End a lease; the last one unloads the model."""
        loaded.leases -= 1
        if loaded.leases == 0:
            loaded.scope.cancel()
            if self._models.get(file) is loaded:
                del self._models[file]

    def status(self) -> list[RunnerStatus]:
        """Return the status of each model, by name."""
        return sorted((m.runner.status() for m in self._models.values()), key=lambda status: status.model)


class LocalProvider:
    """The embedding provider of a local model; leases it from the first text on."""

    id: Final = "local"

    def __init__(self, owner: ModelOwner, file: LocalModel, space: VectorSpace, *, chunk_tokens: int) -> None:
        self._owner = owner
        self._file = file
        self._space = space
        self._chunk_tokens = chunk_tokens
        self._lease: ModelLease | None = None
        self._closed = False

    def __repr__(self) -> str:
        state = "closed" if self._closed else "in use" if self._lease else "not used yet"
        return f"<LocalProvider {self.model} {state}>"

    @property
    def model(self) -> str:
        return self._file.name

    @property
    def space(self) -> VectorSpace:
        return self._space

    @property
    def limits(self) -> BatchLimits:
        return LIMITS

    @property
    def recipe(self) -> dict[str, str]:
        model = self._file.reference or str(self._file.path)
        return {"provider": self.id, "model": model, **recipe_of(self._space)}

    def retry_in_s(self) -> float:
        """Return 0: requests wait while a model restarts."""
        return 0.0

    async def warm_up(self) -> None:
        """Do nothing: a model takes much RAM, so it is loaded for the first text."""

    async def embed_query(self, text: str) -> FloatArray:
        """Return the unit vector (dims,) of a query; queries have priority over batches."""
        return await self._embed(self._space.query_prefix + text, "query")

    async def embed_batch(self, texts: Sequence[str]) -> FloatArray:
        """Return the unit vectors (n, dims) of texts; (0, 0) for none.

        Texts are separate sequences in parallel. On a CPU that is faster than one after the other or one sequence of
        all, and the vector of a text doesn't depend on the others.
        """
        rows: list[FloatArray] = [np.empty(0, dtype=np.float32)] * len(texts)
        failures: list[MemdError] = []

        async def embed(position: int, scope: trio.CancelScope) -> None:
            try:
                rows[position] = await self._embed(self._space.document_prefix + texts[position], "text")
            except MemdError as error:
                failures.append(error)
                scope.cancel()

        async with trio.open_nursery() as nursery:
            for position in range(len(texts)):
                nursery.start_soon(embed, position, nursery.cancel_scope)
        if failures:
            raise failures[0]
        return np.stack(rows) if rows else np.empty((0, 0), dtype=np.float32)

    async def _embed(self, text: str, kind: JobKind) -> FloatArray:
        if self._closed:
            raise ShuttingDownError(f"the provider of {self.model} was closed")
        if self._lease is None:
            self._lease = self._owner.lease(self._file, chunk_tokens=self._chunk_tokens)
        return unit_vector(await self._lease.embed(encodable(text), kind), f"the model {self.model}")

    async def aclose(self) -> None:
        """Release the model; its requests raise ShuttingDownError if unshared."""
        self._closed = True
        if self._lease is not None:
            self._lease.release()
            self._lease = None
