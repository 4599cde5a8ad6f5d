"""memory_recall: the facts nearest to a query."""

from __future__ import annotations

from memd.rpc.call import Call
from memd.rpc.params import wrong
from memd_client.facts import MemoryRecallParams, MemoryRecallReply

MAX_FACTS = 10_000
"""Limit of facts: at maximum length, more would approach the frame limit."""


async def handle(call: Call, params: MemoryRecallParams) -> MemoryRecallReply:
    """Return facts, best first."""
    if not 1 <= params.limit <= MAX_FACTS:
        raise wrong("memory_recall", "limit", f"must be from 1 to {MAX_FACTS}")
    if not 0 <= params.min_score <= 1:
        raise wrong("memory_recall", "min_score", "must be from 0 to 1")
    return await call.lifecycle(params.agent).facts.recall(params)
