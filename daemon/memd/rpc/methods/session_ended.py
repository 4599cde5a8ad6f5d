"""session_ended: what was said last becomes a note."""

from __future__ import annotations

from memd.rpc.call import Call
from memd.rpc.checks import check_filled, check_length, check_word
from memd_client.notes import SessionEndedParams, SessionEndedReply

REASONS = ("new", "reset")
MOST_CHARACTERS = {
    "session_key": 512,
    "session_id": 512,
    "next_session_id": 512,
    "transcript": 4096,
    "slug": 512,
    "source": 512,
}


async def handle(call: Call, params: SessionEndedParams) -> SessionEndedReply:
    """Keep the end of a session.

    Raises:
        BadParamsError: The key is empty, the reason unknown, or a text far too long.
        AgentUnknownError: There is no such agent.
        MemoryDisabledError: The agent's memory is turned off.
        PathRefusedError: The transcript lies elsewhere, or a link is in the note's way.
        FileUnreadableError: The transcript can't be read.
        NoteUnwritableError: The note can't be written.
    """
    check_filled("session_ended", "session_key", params.session_key)
    check_word("session_ended", "reason", params.reason, REASONS)
    for name, most in MOST_CHARACTERS.items():
        check_length("session_ended", name, getattr(params, name), most)
    life = call.life(params.agent)
    noted = await life.notes.session_ended(params)
    await life.flushes.forget(params.session_key)  # the next session under this key has flushes of its own
    return noted
