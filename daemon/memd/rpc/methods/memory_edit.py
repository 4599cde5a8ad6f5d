"""memory_edit: a fact says something else from now on, where it stands."""

from __future__ import annotations

from memd.rpc.call import Call
from memd.rpc.params import check_filled, check_word, wrong
from memd_client.facts import CATEGORIES, MemoryEditParams, MemoryEditReply


async def handle(call: Call, params: MemoryEditParams) -> MemoryEditReply:
    """Return where the fact stands, or which one says the same already."""
    check_filled("memory_edit", "id", params.id)
    check_filled("memory_edit", "text", params.text)
    if params.importance is not None and not 0 <= params.importance <= 1:
        raise wrong("memory_edit", "importance", "must be from 0 to 1")
    check_word("memory_edit", "category", params.category, CATEGORIES)
    return await call.lifecycle(params.agent).facts.edit(params)
