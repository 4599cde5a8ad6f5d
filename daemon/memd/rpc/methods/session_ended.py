"""session_ended: write the end of a conversation to a note."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.notes import SessionEndedParams, SessionEndedReply


async def handle(call: Call, params: SessionEndedParams) -> SessionEndedReply:
    """Write the note and return its path."""
    lifecycle = call.lifecycle(params.agent)
    noted = await lifecycle.notes.session_ended(params)
    await lifecycle.flushes.forget(
        params.session_key
    )  # flushes of the next session under this key are counted separately
    return noted
