"""search: a question to one agent's memory."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.errors import BadParamsError
from memd_client.messages import SearchParams, SearchReply

MAX_RESULTS = 1000
"""More hits than this no reader reads, and with full snippets they would near the frame's limit."""

SOURCES = ("memory", "sessions")


async def handle(call: Call, params: SearchParams) -> SearchReply:
    """Return hits and how they were found.

    Raises:
        BadParamsError: A number is out of its range, or a source unknown.
        AgentUnknownError: There is no such agent.
        QueryEmptyError: The query holds nothing to search for.
        MemoryDisabledError: The agent's memory is turned off.
    """
    if params.max_results is not None and not 1 <= params.max_results <= MAX_RESULTS:
        raise BadParamsError(
            f"search: `max_results` must be from 1 to {MAX_RESULTS}", data={"field": "max_results"}
        )
    if params.deadline_ms is not None and params.deadline_ms < 1:
        raise BadParamsError("search: `deadline_ms` must be at least 1", data={"field": "deadline_ms"})
    if params.min_score is not None and not params.min_score == params.min_score:
        raise BadParamsError("search: `min_score` must be a number", data={"field": "min_score"})
    if params.sources is not None and (not params.sources or not set(params.sources) <= set(SOURCES)):
        raise BadParamsError(
            f"search: `sources` must be one or more of {', '.join(SOURCES)}", data={"field": "sources"}
        )
    return await call.memory.agent(params.agent).search(params)
