"""session_ended: write the end of a conversation to a note."""

from __future__ import annotations

from memd.rpc.call import Call
from memd.rpc.params import check_filled, check_word, wrong
from memd_client.notes import SessionEndedParams, SessionEndedReply

REASONS = ("new", "reset")

MAX_MS = 253_370_764_800_000
"""The start of the year 9999, so that any time zone can show the time."""


async def handle(call: Call, params: SessionEndedParams) -> SessionEndedReply:
    """Write the note and return its path."""
    check_filled("session_ended", "session_key", params.session_key)
    check_word("session_ended", "reason", params.reason, REASONS)
    if params.ended_ms is not None and not 0 < params.ended_ms < MAX_MS:
        raise wrong("session_ended", "ended_ms", "must be a Unix time in milliseconds")
    lifecycle = call.lifecycle(params.agent)
    noted = await lifecycle.notes.session_ended(params)
    await lifecycle.flushes.forget(
        params.session_key
    )  # flushes of the next session under this key are counted separately
    return noted
