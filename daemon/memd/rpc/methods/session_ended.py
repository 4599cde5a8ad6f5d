"""session_ended: what was said last becomes a note."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.errors import BadParamsError
from memd_client.notes import SessionEndedParams, SessionEndedReply

REASONS = ("new", "reset")
MOST_CHARACTERS = {"session_key": 512, "session_id": 512, "transcript": 4096, "slug": 512, "source": 512}


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
    if not params.session_key.strip():
        raise BadParamsError("session_ended: `session_key` must not be empty", data={"field": "session_key"})
    if params.reason not in REASONS:
        raise BadParamsError(
            f"session_ended: `reason` must be one of {', '.join(REASONS)}", data={"field": "reason"}
        )
    for name, most in MOST_CHARACTERS.items():
        if len(getattr(params, name) or "") > most:
            raise BadParamsError(
                f"session_ended: `{name}` must have at most {most} characters", data={"field": name}
            )
    life = call.life(params.agent)
    noted = await life.notes.session_ended(params)
    await life.flushes.forget(params.session_key)  # the next session under this key has flushes of its own
    return noted
