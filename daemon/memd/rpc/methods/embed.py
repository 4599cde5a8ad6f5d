"""embed: vectors of texts."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.messages import EmbedParams, EmbedReply


async def handle(call: Call, params: EmbedParams) -> EmbedReply:
    """Return one vector of unit length per text."""
    return await call.registry.agent(params.agent).embed(params)
