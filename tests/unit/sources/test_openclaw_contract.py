"""The contract of session sources, for each store and for both together."""

from __future__ import annotations

from memd.sources.openclaw import AgentSessions
from memd.sources.openclaw_jsonl import JsonlSessions
from memd.sources.openclaw_sqlite import SqliteSessions
from memd.sources.source import SessionSource
from tests.contracts.session_source import (
    DatabaseWriter,
    FileWriter,
    SessionSourceContract,
    SessionWriter,
)
from tests.support.transcripts import MAX_TRANSCRIPT_BYTES, TranscriptHome


class TestJsonl(SessionSourceContract):
    """Files."""

    def writing(self, home: TranscriptHome) -> SessionWriter:
        return FileWriter(home)

    def make(self, home: TranscriptHome) -> SessionSource:
        return JsonlSessions(home.sessions, MAX_TRANSCRIPT_BYTES)


class TestSqlite(SessionSourceContract):
    """The database."""

    def writing(self, home: TranscriptHome) -> SessionWriter:
        return DatabaseWriter(home)

    def make(self, home: TranscriptHome) -> SessionSource:
        return SqliteSessions(home.database, home.cold, MAX_TRANSCRIPT_BYTES)


class TestAgentWithFiles(TestJsonl):
    """Both stores, with sessions in files."""

    def make(self, home: TranscriptHome) -> SessionSource:
        return AgentSessions(home.state, home.agent, MAX_TRANSCRIPT_BYTES)


class TestAgentWithDatabase(TestSqlite):
    """Both stores, with sessions in the database."""

    def make(self, home: TranscriptHome) -> SessionSource:
        return AgentSessions(home.state, home.agent, MAX_TRANSCRIPT_BYTES)
