"""session_started: a session begins, with a sync and its start-up context."""

from __future__ import annotations

from memd.lifecycle.notes.session_kinds import KINDS
from memd.rpc.call import Call
from memd.rpc.params import check_filled, check_word, wrong
from memd_client.sessions import SessionStartedParams, SessionStartedReply

MOST_CHARACTERS = 1_000_000
"""Limit of the start-up context: more than any model reads, and well within a frame."""


async def handle(call: Call, params: SessionStartedParams) -> SessionStartedReply:
    """Start a sync, once per session key, without waiting for it; return the start-up context."""
    check_filled("session_started", "session_key", params.session_key)
    check_word("session_started", "kind", params.kind, KINDS)
    for name, least in (("max_file_characters", 1), ("max_characters", 0)):
        if not least <= getattr(params, name) <= MOST_CHARACTERS:
            raise wrong("session_started", name, f"must be from {least} to {MOST_CHARACTERS}")
    return await call.lifecycle(params.agent).startup.begin(params)
