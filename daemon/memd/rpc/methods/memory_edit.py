"""memory_edit: change the text of a fact in place."""

from __future__ import annotations

from memd.rpc.call import Call
from memd.rpc.params import check_filled, check_word, wrong
from memd_client.facts import CATEGORIES, MemoryEditParams, MemoryEditReply


async def handle(call: Call, params: MemoryEditParams) -> MemoryEditReply:
    """Return the edited fact, or the fact that it would duplicate."""
    check_filled("memory_edit", "id", params.id)
    check_filled("memory_edit", "text", params.text)
    if params.importance is not None and not 0 <= params.importance <= 1:
        raise wrong("memory_edit", "importance", "must be from 0 to 1")
    check_word("memory_edit", "category", params.category, CATEGORIES)
    return await call.lifecycle(params.agent).facts.edit(params)
