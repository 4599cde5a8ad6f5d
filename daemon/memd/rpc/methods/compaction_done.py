"""compaction_done: a context was compacted, so a new cycle begins and the flushed notes are indexed."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.sessions import CompactionDoneParams, CompactionDoneReply


async def handle(call: Call, params: CompactionDoneParams) -> CompactionDoneReply:
    """Count the compaction of a session and start a sync, without waiting for it."""
    return await call.lifecycle(params.agent).flushes.compaction_done(params)
