"""A stage for the facts of one agent: a provider whose vectors are given, and calls without a daemon."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
import trio
from msgspec.structs import replace

from memd.agents.open_agent import OpenAgent
from memd.lifecycle.facts.facts import Facts
from memd.lifecycle.facts.lines import PATH
from memd.settings.agents import AgentConfig
from memd.settings.lifecycle import FactsSettings, LifecycleSettings
from memd.settings.schema import DaemonSettings
from memd_client.errors import DeadlineExceededError, MemdError
from memd_client.facts import (
    CaptureFactsParams,
    CaptureFactsReply,
    FactsForPromptParams,
    FactsForPromptReply,
    MemoryForgetParams,
    MemoryRecallParams,
    MemoryRecallReply,
    MemoryStoreParams,
    MemoryStoreReply,
)
from memd_client.messages import EmbedParams, EmbedReply
from tests.support.agents import SpiedAgent, config_in

T = TypeVar("T")

NOON = 1_795_348_800_000

MEANINGS = {
    "I prefer dark mode": (1, 0, 0),
    "My editor theme should be dark": (0.99, 0.14, 0),
    "Anna lives in Lisbon": (0, 1, 0),
    "I don't prefer dark mode": (1, 0.01, 0),
    "where is my sister": (0.1, 0.9, 0.2),
    "theme of the screen": (0.8, 0.1, 0.6),
    "the weather": (0, 0, 1),
}
"""Texts and their vectors; other texts have the opposite vector."""


class EmbeddingAgent(SpiedAgent):
    """An agent that is never opened, with a provider whose vectors are given."""

    def __init__(self, workspace: Path, **settings: Any) -> None:
        life = LifecycleSettings(facts=FactsSettings(**settings))
        config = config_in(workspace.parent, workspace=workspace, life=life)
        super().__init__(config, self._refuse, daemon=DaemonSettings, clock=lambda: NOON)
        self.workspace = workspace
        self.failure: MemdError | None = None
        self.model = "given"
        self.asked: list[list[str]] = []
        self.slow = False

    def turn_off(self) -> None:
        """Turn the memory off."""
        off = msgspec.structs.replace(self.config.settings, enabled=False)
        self.config = replace(self.config, settings=off)

    async def keep_vector(self, text: str, model: str, vector: bytes) -> bool:
        """Keep those of the model `given`."""
        return model == "given"

    async def embed(self, params: EmbedParams, timeout_s: float = math.inf) -> EmbedReply:
        """Return the given vectors."""
        await trio.lowlevel.checkpoint()
        self.asked.append(list(params.texts))
        if self.failure is not None:
            raise self.failure
        if self.slow:
            await trio.sleep(timeout_s)
            raise DeadlineExceededError("the provider hangs")
        rows = np.array([MEANINGS.get(text, (-1, -1, -1)) for text in params.texts], dtype="<f4")
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return EmbedReply("fake", self.model, len(rows), 3, rows.astype("<f4").tobytes())

    async def _refuse(self, config: AgentConfig, failures: int) -> OpenAgent:
        raise NotImplementedError


class FactsFixture:
    """The facts of one agent, each call in a run of its own."""

    def __init__(self, workspace: Path, **settings: Any) -> None:
        self.host = EmbeddingAgent(workspace, **settings)
        self.facts = Facts(self.host, lambda: NOON)
        self.file = workspace / PATH

    def run(self, ask: Callable[[], Awaitable[T]]) -> T:
        return trio.run(ask)

    def store(self, text: str, **params: Any) -> MemoryStoreReply:
        return self.run(lambda: self.facts.store(MemoryStoreParams(text, **params)))

    def recall(self, query: str, **params: Any) -> MemoryRecallReply:
        return self.run(lambda: self.facts.recall(MemoryRecallParams(query, **params)))

    def forget(self, **params: Any) -> Any:
        return self.run(lambda: self.facts.forget(MemoryForgetParams(**params)))

    def facts_for_prompt(self, prompt: str, *, force: bool = False) -> FactsForPromptReply:
        return self.run(lambda: self.facts.facts_for_prompt(FactsForPromptParams(prompt, force=force)))

    def capture(self, *said: Any, force: bool = True) -> CaptureFactsReply:
        messages = [each if isinstance(each, dict) else {"role": "user", "content": each} for each in said]
        return self.run(lambda: self.facts.capture(CaptureFactsParams(messages, force=force)))
