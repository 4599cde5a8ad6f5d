"""flush_done: a session has run its memory flush."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.sessions import FlushDoneParams, FlushDoneReply


async def handle(call: Call, params: FlushDoneParams) -> FlushDoneReply:
    """Record the flush of this cycle and start a sync, without waiting for it."""
    return await call.lifecycle(params.agent).flushes.done(params)
