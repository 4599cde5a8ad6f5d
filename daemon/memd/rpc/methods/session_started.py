"""session_started: an agent's session begins, so its memory is brought up to date before the first question."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.errors import BadParamsError
from memd_client.messages import SessionStartedParams, SessionStartedReply


async def handle(call: Call, params: SessionStartedParams) -> SessionStartedReply:
    """Start a sync, the first time for each session key, and don't wait for it.

    Raises:
        BadParamsError: The session key is empty.
        AgentUnknownError: There is no such agent.
        MemoryDisabledError: The agent's memory is turned off.
    """
    if not params.session_key.strip():
        raise BadParamsError(
            "session_started: `session_key` must not be empty", data={"field": "session_key"}
        )
    memory = call.memory.agent(params.agent)
    return SessionStartedReply(memory.agent_id, memory.session_started(params.session_key))
