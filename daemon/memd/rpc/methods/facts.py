"""facts: list the facts of an agent, in pages."""

from __future__ import annotations

from memd.rpc.call import Call
from memd.rpc.params import check_count, wrong
from memd_client.facts import FactsParams, FactsReply

MAX_FACTS = 1_000
"""Limit of facts per reply: at maximum length they fill a quarter of a frame."""


async def handle(call: Call, params: FactsParams) -> FactsReply:
    """Return facts, newest first."""
    check_count("facts", "offset", params.offset)
    if not 1 <= params.limit <= MAX_FACTS:
        raise wrong("facts", "limit", f"must be from 1 to {MAX_FACTS}")
    return await call.lifecycle(params.agent).facts.list_all(params)
