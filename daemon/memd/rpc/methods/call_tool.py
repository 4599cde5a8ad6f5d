"""call_tool: a model's call of a memory tool."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.tooling import CallToolParams, CallToolReply


async def handle(call: Call, params: CallToolParams) -> CallToolReply:
    """Execute a call, or describe its mistake: no input of a model is an error of the request."""
    return await call.lifecycle(params.agent).tools.call(params)
