"""get: lines of a memory file."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.messages import GetParams, GetReply


async def handle(call: Call, params: GetParams) -> GetReply:
    """Return lines of a memory file, unchanged."""
    return await call.registry.agent(params.agent).get(params)
