"""facts: list the facts of an agent, in pages."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.facts import FactsParams, FactsReply


async def handle(call: Call, params: FactsParams) -> FactsReply:
    """Return facts, newest first."""
    return await call.lifecycle(params.agent).facts.list_all(params)
