"""`memory_search` over all agents: the same arguments and answer, with an agent on each result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memd_client import requests
from memd_client.ask import Ask
from memd_client.errors import BadParamsError
from memd_client.messages import Hit, SearchAgentsReply, SearchedAgent

ALL_AGENTS = "all"
"""As the agent of a search: every agent, unless one has this id."""


MAX_RESULTS = 50
"""As in a search of one agent: more excerpts no model reads."""


def search_of(arguments: Mapping[str, Any]) -> Ask[SearchAgentsReply]:
    """Return the request that a call makes of the daemon, which checks ranges."""
    query, most, least = (arguments.get(name) for name in ("query", "maxResults", "minScore"))
    unknown = arguments.keys() - {"query", "maxResults", "minScore"}
    if unknown:
        raise BadParamsError(f"memory_search has no argument {min(map(str, unknown))[:60]!r}")
    if not isinstance(query, str) or not query.strip():
        raise BadParamsError("memory_search: `query` must be text that is not empty")
    if most is not None and (type(most) is not int or not 1 <= most <= MAX_RESULTS):
        raise BadParamsError(f"memory_search: `maxResults` must be a whole number from 1 to {MAX_RESULTS}")
    if least is not None and type(least) not in (int, float):
        raise BadParamsError("memory_search: `minScore` must be a number")
    return requests.search_agents(query, max_results=most, min_score=least)


def answer_of(reply: SearchAgentsReply) -> dict[str, Any]:
    """Return a reply in the tool's shape; `mode` is `mixed` if the agents were searched in different modes."""
    answer: dict[str, Any] = {
        "results": [_result(hit) for hit in reply.hits],
        "mode": _mode(reply.agents),
        "agents": [_agent(row) for row in reply.agents],
    }
    if reason := "" if reply.hits else _reason(reply.agents):
        answer["reason"] = reason
    return answer


def _reason(rows: Sequence[SearchedAgent]) -> str:
    """Return why no agent has a hit: once if for all the same, else by agent."""
    reasons = {row.agent: row.empty.message for row in rows if row.empty is not None}
    if len(set(reasons.values())) <= 1:
        return next(iter(reasons.values()), "")
    return " ".join(f"Agent {agent}: {message}" for agent, message in reasons.items())


def _mode(rows: Sequence[SearchedAgent]) -> str:
    modes = {row.mode for row in rows if row.error is None}
    return modes.pop() if len(modes) == 1 else "mixed" if modes else "none"


def _result(hit: Hit) -> dict[str, Any]:
    return {
        "agent": hit.agent,
        "path": hit.path,
        "startLine": hit.start_line,
        "endLine": hit.end_line,
        "score": round(hit.score, 4),
        "snippet": hit.snippet,
        "source": hit.source,
    }


def _agent(row: SearchedAgent) -> dict[str, Any]:
    """Return how an agent was searched; with `error` or `degraded` if its part is less than the whole."""
    told: dict[str, Any] = {"agent": row.agent, "mode": row.mode}
    if row.error is not None:
        told["error"] = {"code": row.error.code, "message": row.error.message, "hint": row.error.hint}
    if row.degraded is not None:
        degraded = row.degraded
        told["degraded"] = {"code": degraded.code, "reason": degraded.reason, "hint": degraded.hint}
    return told
