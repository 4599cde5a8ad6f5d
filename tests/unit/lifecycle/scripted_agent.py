"""A memory of one agent that answers what a test says, and keeps what it was asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memd.settings.agents import AgentConfig
from memd.settings.lifecycle import LifecycleSettings
from memd.settings.schema import DaemonSettings, MemorySearch
from memd.sources.capacity import limits_of
from memd_client.errors import MemdError, MemoryDisabledError
from memd_client.messages import (
    EmbedParams,
    EmbedReply,
    GetParams,
    GetReply,
    Hit,
    PendingChanges,
    SearchParams,
    SearchReply,
)


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


class ScriptedHost:
    """Answers as `Agent` does."""

    def __init__(
        self,
        home: Path,
        life: LifecycleSettings | None = None,
        *,
        enabled: bool = True,
        agent_id: str = "main",
    ) -> None:
        self.agent_id = agent_id
        self.workspace = home / "workspace"
        self.config = AgentConfig(
            agent_id,
            self.workspace,
            MemorySearch(enabled=enabled),
            home / "memory" / f"{agent_id}.sqlite",
            is_default=True,
            life=life or LifecycleSettings(),
        )
        self.reply = found()
        self.failure: MemdError | None = None
        self.text = ""
        self.searched: list[SearchParams] = []
        self.read: list[GetParams] = []
        self.started: list[str] = []
        self.syncs = 0
        self.limits = limits_of(DaemonSettings())

    def note(self, path: str, text: str) -> Path:
        """Write a file into the workspace."""
        location = self.workspace / path
        location.parent.mkdir(parents=True, exist_ok=True)
        location.write_text(text, encoding="utf-8")
        return location

    async def search(self, params: SearchParams) -> SearchReply:
        """Answer as scripted."""
        self.searched.append(params)
        if self.failure is not None:
            raise self.failure
        return self.reply

    async def get(self, params: GetParams) -> GetReply:
        """Answer with lines of the scripted text."""
        self.read.append(params)
        if self.failure is not None:
            raise self.failure
        lines = self.text.splitlines()
        wanted = lines[params.from_line - 1 :][: params.lines]
        return GetReply(
            self.agent_id, params.path, "\n".join(wanted), params.from_line, len(wanted), len(lines)
        )

    async def keep_vector(self, text: str, model: str, vector: bytes) -> bool:
        """Keep none."""
        return False

    async def embed(self, params: EmbedParams, timeout_s: float) -> EmbedReply:
        """Never asked."""
        raise NotImplementedError

    def session_started(self, session_key: str) -> bool:
        """Sync once for each key."""
        self._require_enabled()
        self.started.append(session_key)
        return self.started.count(session_key) == 1

    def compaction_done(self) -> bool:
        """Count a sync."""
        self._require_enabled()
        self.syncs += 1
        return True

    def _require_enabled(self) -> None:
        if not self.config.settings.enabled:
            raise MemoryDisabledError("memory is off")
