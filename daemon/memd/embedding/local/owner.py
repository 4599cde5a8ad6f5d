"""The owner of all local models: it starts them, and divides the RAM between them."""

from __future__ import annotations

import math
from typing import Final

import trio

from memd.embedding.local.engine import EngineCrashes
from memd.embedding.local.fit import load_memory_bytes
from memd.embedding.local.model import LocalModel, ModelSpec
from memd.embedding.local.process import ModelSettings
from memd.settings.ram_budget import MODELS_SHARE
from memd.system.units import size
from memd_client.errors import ShuttingDownError
from memd_client.reports import ModelStatus

MIN_RECHECK_SECONDS: Final = 0.01


class ModelOwner:
    """Owner of all model processes of the daemon.

    Resources: tasks and processes live inside `run`; a model is loaded for the first text.

    Attributes:
        budget_bytes: The RAM that all models may use together.
        crashes: The engines that crashed on this processor.
    """

    def __init__(self, settings: ModelSettings | None = None, *, budget_bytes: int = 0) -> None:
        self._settings = settings or ModelSettings()
        self.budget_bytes = budget_bytes or load_memory_bytes() // MODELS_SHARE
        self.crashes = EngineCrashes()
        self._models: dict[ModelSpec, LocalModel] = {}
        self._running: list[LocalModel] = []
        self._changed = trio.Event()
        self._nursery: trio.Nursery | None = None

    def __repr__(self) -> str:
        models = ", ".join(map(repr, self._models.values())) or "no model"
        return (
            f"<ModelOwner {'running' if self._nursery else 'stopped'}, {size(self.budget_bytes)}: {models}>"
        )

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run the model processes until cancelled; all have ended when this returns.

        Failures of a model are raised by its requests only.
        """
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                task_status.started()
                while True:
                    with trio.move_on_after(self._divide_ram()):
                        await self._changed.wait()
                    self._changed = trio.Event()
        finally:
            self._nursery = None
            self._models.clear()

    def use_settings(self, settings: ModelSettings, budget_bytes: int) -> None:
        """Change the settings: the RAM limit at once, the rest for models used later."""
        self._settings = settings
        self.budget_bytes = budget_bytes
        self._changed.set()

    def acquire(self, spec: ModelSpec, *, chunk_tokens: int) -> LocalModel:
        """Return a model to use until `release`; loads nothing."""
        if self._nursery is None or self._nursery.cancel_scope.cancel_called:
            raise ShuttingDownError(f"model {spec.name} can't be loaded: the daemon is stopping")
        model = self._models.get(spec)
        if model is None:
            model = self._models[spec] = LocalModel(
                spec,
                self._settings,
                self.crashes,
                chunk_tokens=chunk_tokens,
                on_change=lambda: self._changed.set(),
                ram_limit=lambda: self.budget_bytes,
            )
            self._nursery.start_soon(self._run_model, model)
        model.users += 1
        model.chunk_tokens = max(model.chunk_tokens, chunk_tokens)
        return model

    def release(self, model: LocalModel) -> None:
        """End a use of a model; the last one unloads it."""
        model.users -= 1
        if model.users == 0:
            model.stop()
            if self._models.get(model.spec) is model:
                del self._models[model.spec]

    async def _run_model(self, model: LocalModel) -> None:
        self._running.append(model)
        try:
            await model.run()
        finally:
            self._running.remove(model)
            self._changed.set()

    def status(self) -> list[ModelStatus]:
        """Return the status of each model, by name."""
        return sorted((model.status() for model in self._models.values()), key=lambda status: status.model)

    def _divide_ram(self) -> float:
        """Let waiting models load within the limit, and unload others for them; return when to check again, in seconds.

        Queries come first. The least recently used model is unloaded, an idle one before a busy one. A model beyond the
        limit is loaded alone.
        """
        while True:
            waiting = [model for model in self._running if model.waits_for]
            if not waiting:
                return math.inf
            first = min(waiting, key=lambda model: (model.waits_for != "query", model.waiting_since))
            loaded = [model for model in self._running if model.has_ram]
            used_bytes = sum(model.need_bytes for model in loaded)
            if loaded and first.need_bytes + used_bytes > self.budget_bytes:
                return self._make_room(loaded, first)
            first.grant_ram()

    def _make_room(self, loaded: list[LocalModel], waiting: LocalModel) -> float:
        """Unload one model for a waiting one as soon as it may be; return when that is, in seconds."""
        kind = waiting.waits_for
        if kind is None or any(model.is_evicted for model in loaded):
            return math.inf  # the end of the evicted model makes room
        stays_s = {model: model.stays_loaded_s(kind) for model in loaded}
        model = min(
            loaded, key=lambda model: (math.isinf(stays_s[model]), model.work is not None, model.last_used)
        )
        if stays_s[model] > 0:
            return max(MIN_RECHECK_SECONDS, stays_s[model])
        model.evict()
        return math.inf
