"""session_ended: write the end of a conversation to a note."""

from __future__ import annotations

from memd.rpc.call import Call
from memd.rpc.params import check_filled, check_word
from memd_client.notes import SessionEndedParams, SessionEndedReply

REASONS = ("new", "reset")


async def handle(call: Call, params: SessionEndedParams) -> SessionEndedReply:
    """Write the note and return its path."""
    check_filled("session_ended", "session_key", params.session_key)
    check_word("session_ended", "reason", params.reason, REASONS)
    lifecycle = call.lifecycle(params.agent)
    noted = await lifecycle.notes.session_ended(params)
    await lifecycle.flushes.forget(
        params.session_key
    )  # flushes of the next session under this key are counted separately
    return noted
