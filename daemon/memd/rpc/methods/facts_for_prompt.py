"""facts_for_prompt: the facts nearest to a prompt, as a block to put before it."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.facts import FactsForPromptParams, FactsForPromptReply


async def handle(call: Call, params: FactsForPromptParams) -> FactsForPromptReply:
    """Return the block, or the reason for having none."""
    return await call.lifecycle(params.agent).facts.facts_for_prompt(params)
