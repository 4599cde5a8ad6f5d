"""flush_done: a session has run its memory flush."""

from __future__ import annotations

from memd.rpc.call import Call
from memd.rpc.params import check_count, check_filled
from memd_client.sessions import FlushDoneParams, FlushDoneReply


async def handle(call: Call, params: FlushDoneParams) -> FlushDoneReply:
    """Record the flush of this cycle and start a sync, without waiting for it."""
    check_filled("flush_done", "session_key", params.session_key)
    check_count("flush_done", "compaction_count", params.compaction_count)
    return await call.lifecycle(params.agent).flushes.done(params)
