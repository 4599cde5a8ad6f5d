"""session_started: an agent's session begins, with its memory brought up to date and the notes it starts from."""

from __future__ import annotations

from memd.lifecycle.session_kinds import KINDS
from memd.rpc.call import Call
from memd_client.errors import BadParamsError
from memd_client.sessions import SessionStartedParams, SessionStartedReply

MOST_CHARACTERS = 1_000_000
"""More than any model reads at its start, and well within a frame."""


async def handle(call: Call, params: SessionStartedParams) -> SessionStartedReply:
    """Start a sync, the first time for each session key, and don't wait for it; return the start-up context.

    Raises:
        BadParamsError: The session key is empty, the kind unknown, or a size out of its range.
        AgentUnknownError: There is no such agent.
        MemoryDisabledError: The agent's memory is turned off.
    """
    if not params.session_key.strip():
        raise BadParamsError(
            "session_started: `session_key` must not be empty", data={"field": "session_key"}
        )
    if params.kind is not None and params.kind not in KINDS:
        raise BadParamsError(
            f"session_started: `kind` must be one of {', '.join(KINDS)}", data={"field": "kind"}
        )
    for name, least in (("max_file_characters", 1), ("max_characters", 0)):
        if not least <= getattr(params, name) <= MOST_CHARACTERS:
            raise BadParamsError(
                f"session_started: `{name}` must be from {least} to {MOST_CHARACTERS}", data={"field": name}
            )
    return await call.life(params.agent).startup.begin(params)
