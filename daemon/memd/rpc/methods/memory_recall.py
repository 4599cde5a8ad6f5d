"""memory_recall: the facts nearest to a query."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.facts import MemoryRecallParams, MemoryRecallReply


async def handle(call: Call, params: MemoryRecallParams) -> MemoryRecallReply:
    """Return facts, best first."""
    return await call.lifecycle(params.agent).facts.recall(params)
