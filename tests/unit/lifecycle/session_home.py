"""An agent with sessions, whose clock and settings a test owns."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from memd.lifecycle.notes.notes import Notes
from memd.lifecycle.notes.slug import Complete
from memd.rpc.methods import session_ended
from memd.settings.lifecycle import LifecycleSettings
from memd_client.notes import SessionEndedParams, SessionEndedReply
from tests.support.agents import BlockingAgent, config_in
from tests.support.transcripts import TranscriptHome, header, message

NOW = int(datetime(2026, 1, 16, 14, 30, tzinfo=UTC).timestamp() * 1000)
ASKED, ANSWERED = "What about the API design?", "I suggest we use REST."


class Home(BlockingAgent):
    """A real agent with a workspace and a folder of sessions."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, config_in(root, life=LifecycleSettings(time_zone="UTC")))
        self.state = root / "state"
        self.transcripts = TranscriptHome(self.state)
        self.complete: Complete | None = None
        self.now_ms = NOW
        self.forgotten: list[str] = []

    async def _forget(self, session_key: str) -> None:
        """Take note of a session whose flushes are forgotten."""
        self.forgotten.append(session_key)

    def end(self, **params: Any) -> SessionEndedReply:
        """Return the reply to a request, as the daemon would give it."""
        notes = Notes(self.agent, lambda: self.now_ms, state_dir=self.state, complete=self.complete)
        life = SimpleNamespace(notes=notes, flushes=SimpleNamespace(forget=self._forget))
        call = cast(Any, SimpleNamespace(lifecycle=lambda _: life))
        asked = SessionEndedParams(**{"session_key": "agent:main:main", **params})
        return self.run(session_ended.handle, call, asked)

    def text(self, reply: SessionEndedReply) -> str:
        """Return the text of the note that a reply names."""
        return (self.workspace / reply.path).read_text(encoding="utf-8")

    def say(self, session_id: str, *said: str) -> Path:
        """Write a transcript in which user and assistant take turns."""
        turns = [message("assistant" if at % 2 else "user", text) for at, text in enumerate(said)]
        return self.transcripts.write_file(session_id, [header(session_id), *turns])

    def written(self) -> list[str]:
        return sorted(str(path.relative_to(self.workspace)) for path in self.workspace.rglob("*.md"))
