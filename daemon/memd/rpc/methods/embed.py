"""embed: vectors of texts."""

from __future__ import annotations

from memd.rpc.call import Call
from memd.rpc.params import check_word, wrong
from memd_client.messages import EmbedParams, EmbedReply

KINDS = ("query", "document")


async def handle(call: Call, params: EmbedParams) -> EmbedReply:
    """Return one vector of unit length per text."""
    check_word("embed", "kind", params.kind, KINDS)
    if not params.texts:
        raise wrong("embed", "texts", "must hold at least one text")
    return await call.registry.agent(params.agent).embed(params)
