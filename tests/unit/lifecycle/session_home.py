"""An agent with sessions, whose clock and settings a test owns."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import trio

from memd.lifecycle.notes.notes import Notes
from memd.lifecycle.notes.slug import Complete
from memd.rpc.methods import session_ended
from memd.settings.agents import AgentConfig
from memd.settings.lifecycle import LifecycleSettings
from memd.settings.schema import DaemonSettings, MemorySearch
from memd.sources.capacity import limits_of
from memd_client.notes import SessionEndedParams, SessionEndedReply
from tests.support.transcripts import TranscriptHome, header, message

NOW = int(datetime(2026, 1, 16, 14, 30, tzinfo=UTC).timestamp() * 1000)
ASKED, ANSWERED = "What about the API design?", "I suggest we use REST."


class Home:
    """An agent with a workspace and a folder of sessions."""

    def __init__(self, root: Path) -> None:
        self.agent_id = "main"
        self.workspace = root / "workspace"
        self.workspace.mkdir()
        self.state = root / "state"
        self.transcripts = TranscriptHome(self.state)
        self.life = LifecycleSettings(time_zone="UTC")
        self.enabled = True
        self.limits = limits_of(DaemonSettings())
        self.complete: Complete | None = None
        self.now_ms = NOW
        self.syncs = 0
        self.forgotten: list[str] = []

    @property
    def config(self) -> AgentConfig:
        settings = MemorySearch(enabled=self.enabled)
        return AgentConfig("main", self.workspace, settings, self.state / "x", True, life=self.life)

    def compaction_done(self) -> bool:
        self.syncs += 1
        return True

    async def _forget(self, session_key: str) -> None:
        """Take note of a session whose flushes are forgotten."""
        self.forgotten.append(session_key)

    def end(self, **params: Any) -> SessionEndedReply:
        """Return the reply to a request, as the daemon would give it."""
        notes = Notes(cast(Any, self), lambda: self.now_ms, state_dir=self.state, complete=self.complete)
        life = SimpleNamespace(notes=notes, flushes=SimpleNamespace(forget=self._forget))
        call = cast(Any, SimpleNamespace(lifecycle=lambda _: life))
        asked = SessionEndedParams(**{"session_key": "agent:main:main", **params})
        return trio.run(session_ended.handle, call, asked)

    def note(self, reply: SessionEndedReply) -> str:
        return (self.workspace / reply.path).read_text(encoding="utf-8")

    def say(self, session_id: str, *said: str) -> Path:
        """Write a transcript in which user and assistant take turns."""
        turns = [message("assistant" if at % 2 else "user", text) for at, text in enumerate(said)]
        return self.transcripts.write_file(session_id, [header(session_id), *turns])

    def written(self) -> list[str]:
        return sorted(str(path.relative_to(self.workspace)) for path in self.workspace.rglob("*.md"))
