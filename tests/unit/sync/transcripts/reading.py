"""How these tests read a transcript."""

from __future__ import annotations

from memd.sync.transcripts.sqlite import SqliteSessions

LIMIT = 1_048_576
"""Largest transcript, in bytes."""


def text_of(source: SqliteSessions, session_id: str) -> str:
    """Return the talk of a session that is found."""
    return source.load(source.find().found[f"sessions/{session_id}.jsonl"]).text
