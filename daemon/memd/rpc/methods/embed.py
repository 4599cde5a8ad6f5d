"""embed: texts to vectors by the warm model."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.errors import BadParamsError
from memd_client.messages import EmbedParams, EmbedReply

KINDS = ("query", "document")


async def handle(call: Call, params: EmbedParams) -> EmbedReply:
    """Return one unit vector a text.

    Raises:
        BadParamsError: `kind` is unknown, or there are no texts.
        AgentUnknownError: There is no such agent.
        ProviderUnavailableError: The agent has no embedding provider.
        ProviderFailedError: The provider failed.
    """
    if params.kind not in KINDS:
        raise BadParamsError(f"embed: `kind` must be one of {', '.join(KINDS)}", data={"field": "kind"})
    if not params.texts:
        raise BadParamsError("embed: `texts` must hold at least one text", data={"field": "texts"})
    return await call.memory.agent(params.agent).embed(params)
