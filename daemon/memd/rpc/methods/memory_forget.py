"""memory_forget: remove one fact, if the request identifies it clearly."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.errors import BadParamsError
from memd_client.facts import MemoryForgetParams, MemoryForgetReply


async def handle(call: Call, params: MemoryForgetParams) -> MemoryForgetReply:
    """Return the forgotten fact, or the candidates."""
    given = [value for value in (params.id, params.query) if value is not None]
    if len(given) != 1 or not given[0].strip():
        raise BadParamsError("memory_forget: give `id` or `query`, one of them", data={"field": "id"})
    return await call.lifecycle(params.agent).facts.forget(params)
