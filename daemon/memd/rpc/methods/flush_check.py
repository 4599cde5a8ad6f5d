"""flush_check: whether a session should run a memory flush before it is compacted."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.sessions import FlushCheckParams, FlushCheckReply


async def handle(call: Call, params: FlushCheckParams) -> FlushCheckReply:
    """Return the decision, with the prompts if a flush is due."""
    return await call.lifecycle(params.agent).flushes.check(params)
