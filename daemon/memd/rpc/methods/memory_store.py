"""memory_store: store a fact, unless it is a duplicate."""

from __future__ import annotations

from memd.lifecycle.facts.lines import ID_LETTERS, MAX_DATE_MS
from memd.rpc.call import Call
from memd.rpc.params import check_filled, check_word, wrong
from memd_client.facts import CATEGORIES, MemoryStoreParams, MemoryStoreReply


async def handle(call: Call, params: MemoryStoreParams) -> MemoryStoreReply:
    """Return the stored fact, or its duplicate."""
    check_filled("memory_store", "text", params.text)
    if params.importance is not None and not 0 <= params.importance <= 1:
        raise wrong("memory_store", "importance", "must be from 0 to 1")
    check_word("memory_store", "category", params.category, CATEGORIES)
    if params.id is not None and not ID_LETTERS.fullmatch(params.id):
        raise wrong("memory_store", "id", "must be 1 to 64 letters, digits, hyphens or underscores")
    if params.created_ms is not None and not 0 <= params.created_ms <= MAX_DATE_MS:
        raise wrong("memory_store", "created_ms", "must be a moment from 1970 to 9999 in milliseconds")
    if params.vector is not None and len(params.vector) < 4:
        raise wrong("memory_store", "vector", "must be float32 numbers")
    return await call.lifecycle(params.agent).facts.store(params)
