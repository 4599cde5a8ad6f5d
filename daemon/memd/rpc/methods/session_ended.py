"""session_ended: what was said last becomes a note."""

from __future__ import annotations

from memd.rpc.call import Call
from memd.rpc.params import check_filled, check_word
from memd_client.notes import SessionEndedParams, SessionEndedReply

REASONS = ("new", "reset")


async def handle(call: Call, params: SessionEndedParams) -> SessionEndedReply:
    """Keep the end of a session."""
    check_filled("session_ended", "session_key", params.session_key)
    check_word("session_ended", "reason", params.reason, REASONS)
    lifecycle = call.lifecycle(params.agent)
    noted = await lifecycle.notes.session_ended(params)
    await lifecycle.flushes.forget(
        params.session_key
    )  # the next session under this key has flushes of its own
    return noted
