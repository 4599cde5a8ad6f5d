"""recall_for: facts near to a prompt, as a block that can stand before it."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.facts import RecallForParams, RecallForReply


async def handle(call: Call, params: RecallForParams) -> RecallForReply:
    """Return the block, or why there is none."""
    return await call.lifecycle(params.agent).facts.recall_for(params)
