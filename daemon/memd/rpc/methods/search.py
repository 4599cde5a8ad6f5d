"""search: a question to one agent's memory."""

from __future__ import annotations

from memd.rpc.call import Call
from memd.rpc.checks import check_projects, wrong
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
        raise wrong("search", "max_results", f"must be from 1 to {MAX_RESULTS}")
    if params.deadline_ms is not None and params.deadline_ms < 1:
        raise wrong("search", "deadline_ms", "must be at least 1")
    if params.min_score is not None and not params.min_score == params.min_score:
        raise wrong("search", "min_score", "must be a number")
    if params.sources is not None and (not params.sources or not set(params.sources) <= set(SOURCES)):
        raise wrong("search", "sources", f"must be one or more of {', '.join(SOURCES)}")
    check_projects("search", params.active_projects)
    return await call.memory.agent(params.agent).search(params)
