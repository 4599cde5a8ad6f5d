"""session_started: a session begins, with a sync and its start-up context."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.sessions import SessionStartedParams, SessionStartedReply


async def handle(call: Call, params: SessionStartedParams) -> SessionStartedReply:
    """Start a sync, once per session key, without waiting for it; return the start-up context."""
    return await call.lifecycle(params.agent).startup.begin(params)
