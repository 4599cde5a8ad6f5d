"""memory_edit: change the text of a fact in place."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.facts import MemoryEditParams, MemoryEditReply


async def handle(call: Call, params: MemoryEditParams) -> MemoryEditReply:
    """Return the edited fact, or the fact that it would duplicate."""
    return await call.lifecycle(params.agent).facts.edit(params)
