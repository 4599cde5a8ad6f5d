"""recall_for: the facts nearest to a prompt, as a block to put before it."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.facts import RecallForParams, RecallForReply


async def handle(call: Call, params: RecallForParams) -> RecallForReply:
    """Return the block, or the reason for having none."""
    return await call.lifecycle(params.agent).facts.recall_for(params)
