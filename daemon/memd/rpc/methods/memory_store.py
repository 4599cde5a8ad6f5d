"""memory_store: store a fact, unless it is a duplicate."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.facts import MemoryStoreParams, MemoryStoreReply


async def handle(call: Call, params: MemoryStoreParams) -> MemoryStoreReply:
    """Return the stored fact, or its duplicate."""
    return await call.lifecycle(params.agent).facts.store(params)
