"""search: a query to one agent's memory."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.messages import SearchParams, SearchReply


async def handle(call: Call, params: SearchParams) -> SearchReply:
    """Return hits and how they were found."""
    return await call.registry.agent(params.agent).search(params)
