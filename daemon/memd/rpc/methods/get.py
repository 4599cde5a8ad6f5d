"""get: lines of a memory file."""

from __future__ import annotations

from memd.rpc.call import Call
from memd.rpc.params import wrong
from memd_client.messages import GetParams, GetReply


async def handle(call: Call, params: GetParams) -> GetReply:
    """Return lines of a memory file, unchanged."""
    if params.from_line < 1:
        raise wrong("get", "from_line", "must be at least 1")
    if params.lines is not None and params.lines < 1:
        raise wrong("get", "lines", "must be at least 1")
    return await call.registry.agent(params.agent).get(params)
