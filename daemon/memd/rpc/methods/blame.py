"""blame: the sessions that touched a file, newest first."""

from __future__ import annotations

from memd.lifecycle.work.blame import find_touches
from memd.rpc.call import Call
from memd_client.messages import BlameParams, BlameReply


async def handle(call: Call, params: BlameParams) -> BlameReply:
    """Return the sessions that touched a file, newest first."""
    return await find_touches(call.registry, params)
