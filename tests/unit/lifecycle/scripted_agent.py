"""An agent whose searches have the reply that a test says, and such replies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import trio

from memd.agents.agent import Agent
from memd.agents.open_agent import OpenAgent
from memd.settings.agents import AgentConfig
from memd.settings.lifecycle import LifecycleSettings
from memd.settings.schema import DaemonSettings
from memd_client.messages import Hit, PendingChanges, SearchParams, SearchReply
from tests.support.agents import config_in


def found(*hits: Hit, **facts: Any) -> SearchReply:
    """Return a search's reply with some hits."""
    usual: dict[str, Any] = {
        "agent": "main",
        "mode": "hybrid",
        "degraded": None,
        "abstained": not hits,
        "took_ms": 1.0,
        "provider": "local",
        "model": "minilm",
        "generation": 1,
        "pending": PendingChanges(),
    }
    return SearchReply(hits=list(hits), **{**usual, **facts})


def hit(snippet: str, path: str = "memory/2026-01-16.md", first: int = 3, last: int = 9) -> Hit:
    """Return a hit."""
    return Hit(path, first, last, 0.81237, 0.5, 1.0, snippet, "memory", f"{path}#L{first}-L{last}")


class AnsweringAgent(Agent):
    """An agent that is never opened, and whose searches have a given reply."""

    def __init__(self, folder: Path, life: LifecycleSettings | None = None) -> None:
        super().__init__(config_in(folder, life=life), self._refuse, daemon=DaemonSettings, clock=lambda: 0)
        self.reply = found()

    async def search(self, params: SearchParams) -> SearchReply:
        """Answer as scripted."""
        await trio.lowlevel.checkpoint()
        return self.reply

    async def _refuse(self, config: AgentConfig, failures: int) -> OpenAgent:
        raise NotImplementedError
