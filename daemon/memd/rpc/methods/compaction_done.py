"""compaction_done: a context was compacted, so a new cycle begins and the flushed notes are indexed."""

from __future__ import annotations

from memd.rpc.call import Call
from memd.rpc.params import check_count
from memd_client.sessions import CompactionDoneParams, CompactionDoneReply


async def handle(call: Call, params: CompactionDoneParams) -> CompactionDoneReply:
    """Count the compaction of a session and start a sync, without waiting for it."""
    check_count("compaction_done", "compaction_count", params.compaction_count)
    return await call.lifecycle(params.agent).flushes.compaction_done(params)
