"""Local models: one process a model, however many agents use it, and the provider of one agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import trio

from memd.embedding.local.fit import load_memory_bytes
from memd.embedding.local.jobs import Job, Kind
from memd.embedding.local.model_memory import ModelMemoryManager
from memd.embedding.local.process import RunnerSettings
from memd.embedding.local.runner import ModelRunner, RunnerStatus
from memd.embedding.provider import BatchLimits, FloatArray, encodable, unit_vector
from memd.embedding.space import VectorSpace, recipe_of
from memd.settings.memory_budget import MODELS_SHARE
from memd_client.errors import MemdError, ShuttingDownError

LIMITS: Final = BatchLimits(max_texts=16, max_tokens=1_000_000, max_text_tokens=1_000_000, concurrency=1)
"""The model cuts long texts itself; a small batch keeps progress live and is fair to other agents."""


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model to load.

    `fingerprint` None: whatever file is there now is the model. `reference` is its name in the settings, empty if
    that is the path.
    """

    path: Path
    name: str
    fingerprint: str | None = None
    reference: str = field(default="", compare=False)


class _Loaded:
    """A runner, the scope of its task and the number of its holders."""

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

    def __init__(self, owner: ModelOwner, file: LocalModel, loaded: _Loaded) -> None:
        self._owner = owner
        self._file = file
        self._loaded = loaded
        self._released = False

    def __repr__(self) -> str:
        return f"<ModelHold {self._file.name}{' released' if self._released else ''}>"

    async def embed(self, text: str, kind: Kind) -> FloatArray:
        """Return a text's raw vector (dims,); see `ModelRunner.ask` for order and errors."""
        if self._released:
            raise ShuttingDownError(f"the model {self._file.name} was given back")
        return await self._loaded.runner.ask(Job(text, kind))

    def release(self) -> None:
        """Give the model back; a second time does nothing."""
        if not self._released:
            self._released = True
            self._owner._end_hold(self._file, self._loaded)


class ModelOwner:
    """Owner of every model process of the daemon.

    Resources: tasks and processes live inside `run`; a model is loaded when the first text waits for it.
    """

    def __init__(self, settings: RunnerSettings | None = None, *, budget_bytes: int = 0) -> None:
        self._settings = settings or RunnerSettings()
        self._memory = ModelMemoryManager(budget_bytes or load_memory_bytes() // MODELS_SHARE)
        self._models: dict[LocalModel, _Loaded] = {}
        self._nursery: trio.Nursery | None = None

    def __repr__(self) -> str:
        running = ", ".join(f"{m.runner!r} holders={m.holders}" for m in self._models.values())
        return f"<ModelOwner {'running' if self._nursery else 'stopped'}: {running or 'no model'}>"

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Own the processes until cancelled; when this returns none is left.

        A model's failure goes to its requests; it never ends this.
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
        """Use other settings from now on: the RAM budget at once, the rest for models held from now on."""
        self._settings = settings
        self._memory.budget_bytes = budget_bytes

    def hold(self, file: LocalModel, *, chunk_tokens: int) -> ModelHold:
        """Claim a model; nothing is loaded by that."""
        if self._nursery is None or self._nursery.cancel_scope.cancel_called:
            raise ShuttingDownError(f"the model {file.name} can't be loaded: the daemon is stopping")
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
            loaded = self._models[file] = _Loaded(runner)
            self._nursery.start_soon(loaded.run)
        loaded.holders += 1
        loaded.runner.chunk_tokens = max(loaded.runner.chunk_tokens, chunk_tokens)
        return ModelHold(self, file, loaded)

    def _end_hold(self, file: LocalModel, loaded: _Loaded) -> None:
        """End one claim; the last one unloads the model."""
        loaded.holders -= 1
        if loaded.holders == 0:
            loaded.scope.cancel()
            if self._models.get(file) is loaded:
                del self._models[file]

    def status(self) -> list[RunnerStatus]:
        """Return what each model is doing, by name."""
        return sorted((m.runner.status() for m in self._models.values()), key=lambda status: status.model)


class LocalProvider:
    """A model of this machine, held from the first text until `aclose`."""

    id: Final = "local"

    def __init__(self, owner: ModelOwner, file: LocalModel, space: VectorSpace, *, chunk_tokens: int) -> None:
        self._owner = owner
        self._file = file
        self._space = space
        self._chunk_tokens = chunk_tokens
        self._hold: ModelHold | None = None
        self._closed = False

    def __repr__(self) -> str:
        state = "closed" if self._closed else "in use" if self._hold else "not used yet"
        return f"<LocalProvider {self.model} {state}>"

    @property
    def model(self) -> str:
        """The model as the settings name it."""
        return self._file.name

    @property
    def space(self) -> VectorSpace:
        """What the vectors are comparable with."""
        return self._space

    @property
    def limits(self) -> BatchLimits:
        """What is asked for at once."""
        return LIMITS

    @property
    def recipe(self) -> dict[str, str]:
        """What is needed to make this provider again."""
        model = self._file.reference or str(self._file.path)
        return {"provider": self.id, "model": model, **recipe_of(self._space)}

    def retry_in_s(self) -> float:
        """Return 0: a request waits until its model is started again."""
        return 0.0

    async def get_ready(self) -> None:
        """Do nothing: a model takes memory, so it is loaded for the first text."""

    async def embed_query(self, text: str) -> FloatArray:
        """Return the unit vector (dims,) of a query; it overtakes every batch."""
        return await self._embed(self._space.query_prefix + text, "query")

    async def embed_batch(self, texts: Sequence[str]) -> FloatArray:
        """Return the unit vectors (n, dims) of some texts; (0, 0) for none.

        Each is a sequence of its own, in parallel: on a CPU that is faster than one after the other and than one
        long sequence of all, and the vector of a text doesn't depend on the others.
        """
        rows: list[FloatArray] = [np.empty(0, dtype=np.float32)] * len(texts)
        failures: list[MemdError] = []

        async def embed(place: int, scope: trio.CancelScope) -> None:
            try:
                rows[place] = await self._embed(self._space.document_prefix + texts[place], "text")
            except MemdError as error:
                failures.append(error)
                scope.cancel()

        async with trio.open_nursery() as nursery:
            for place in range(len(texts)):
                nursery.start_soon(embed, place, nursery.cancel_scope)
        if failures:
            raise failures[0]
        return np.stack(rows) if rows else np.empty((0, 0), dtype=np.float32)

    async def _embed(self, text: str, kind: Kind) -> FloatArray:
        if self._closed:
            raise ShuttingDownError(f"the provider of {self.model} was closed")
        if self._hold is None:
            self._hold = self._owner.hold(self._file, chunk_tokens=self._chunk_tokens)
        return unit_vector(await self._hold.embed(encodable(text), kind), f"the model {self.model}")

    async def aclose(self) -> None:
        """Give the model back; requests under way end with ShuttingDownError if nothing else holds it."""
        self._closed = True
        if self._hold is not None:
            self._hold.release()
            self._hold = None
