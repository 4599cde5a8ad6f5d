"""A tool call of an MCP client, carried out by the daemon."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memd.mcp.definitions import ALL_AGENTS, APPEND_NOTE, MAX_RESULTS, TOOLS, Tool
from memd.mcp.reach import Reach
from memd.mcp.readable import say, say_error, say_wrong
from memd_client import life_requests, requests
from memd_client.ask import Ask
from memd_client.errors import AgentUnknownError, BadParamsError, MemdError
from memd_client.messages import Hit, Progress, SearchAgentsReply, SearchedAgent
from memd_client.wire import to_wire

OnProgress = Callable[[Progress], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a call: a text, and the same as data; no data where it failed."""

    text: str
    data: dict[str, Any] | None = None

    @property
    def failed(self) -> bool:
        """Whether the text says what went wrong."""
        return self.data is None


async def carry_out(
    reach: Reach, name: str, arguments: Mapping[str, Any], on_progress: OnProgress | None = None
) -> Outcome:
    """Carry out a call. Whatever it says gets an answer; one that can't be carried out says what would be right.

    Cancellation: the daemon is told to stop.
    """
    tool = TOOLS.get(name)
    if tool is None:
        return Outcome(
            say_wrong({"error": f"there is no tool {name[:60]!r}", "expected": f"one of {', '.join(TOOLS)}"})
        )
    given = dict(arguments)
    may_mean_all = tool.takes_all and reach.agent is None and given.get("agent") == ALL_AGENTS
    try:
        agent = reach.checked(given.pop("agent", None))
        if name == APPEND_NOTE:
            return await _append(reach, tool, agent, given, on_progress)
        ask = life_requests.call_tool(name, given, agent=agent)
        ask.repeatable = tool.repeatable
        reply = await _replied(reach, ask, on_progress)
        return (
            Outcome(say(name, reply.result), reply.result) if reply.ok else Outcome(say_wrong(reply.result))
        )
    except AgentUnknownError as error:
        if may_mean_all:
            return await _search_all(reach, tool, given, on_progress)
        return Outcome("\n".join([say_error(error), *await _known_agents(reach)]))
    except MemdError as error:
        return Outcome(say_error(error))


async def _search_all(
    reach: Reach, tool: Tool, given: dict[str, Any], on_progress: OnProgress | None
) -> Outcome:
    """Search the memory of all agents."""
    try:
        answer = all_agents_answer(await _replied(reach, _search_request(given), on_progress))
    except BadParamsError as error:
        return _wrong(tool, error.message)
    except MemdError as error:
        return Outcome(say_error(error))
    return Outcome(say(tool.name, answer), answer)


async def _append(
    reach: Reach, tool: Tool, agent: str | None, given: dict[str, Any], on_progress: OnProgress | None
) -> Outcome:
    """Append an entry to a day's note."""
    unknown = [name for name in given if name not in tool.properties]
    if unknown:
        return _wrong(tool, f"{tool.name} has no argument {unknown[0][:60]!r}")
    if not isinstance(given.get("text"), str):
        return _wrong(tool, f"{tool.name}: `text` {'must be text' if 'text' in given else 'is missing'}")
    if not isinstance(given.get("date"), str | None):
        return _wrong(tool, f"{tool.name}: `date` must be a day as YYYY-MM-DD")
    ask = life_requests.append_note(given["text"], agent=agent, date=given.get("date"))
    try:
        answer = to_wire(await _replied(reach, ask, on_progress))
    except BadParamsError as error:
        return _wrong(tool, error.message)
    return Outcome(say(tool.name, answer), answer)


def _wrong(tool: Tool, error: str) -> Outcome:
    """Return what a call got wrong."""
    expected = "; ".join(
        f"{name}: {facts['description']}{'' if name in tool.required else ' Optional.'}"
        for name, facts in tool.properties.items()
    )
    return Outcome(say_wrong({"error": error, "expected": expected, "example": tool.example}))


async def _replied(reach: Reach, ask: Ask[Any], on_progress: OnProgress | None) -> Any:
    """Send a request, hand its progress on, and return its reply."""
    async with reach.client.follow(ask) as steps:
        async for step in steps:
            if on_progress is not None:
                await on_progress(step)
    return steps.reply


async def _known_agents(reach: Reach) -> list[str]:
    """Return a line that names the agents one may ask for; none where nobody knows them."""
    agents = await reach.agents_or_none()
    return [f"Known agents: {', '.join(agents)}."] if agents else []


# --- a search of all agents ------------------------------------------------------------------------------


def _search_request(arguments: Mapping[str, Any]) -> Ask[SearchAgentsReply]:
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


def all_agents_answer(reply: SearchAgentsReply) -> dict[str, Any]:
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


# --- progress --------------------------------------------------------------------------------------------

Step = tuple[float, float | None, str]
"""How far a call is, of how much (None if unknown), and what it does."""


class ProgressSteps:
    """The stages of one request as MCP has progress: one number that only grows."""

    def __init__(self) -> None:
        self._stage = ""
        self._before = 0
        self._last = -1

    def next(self, progress: Progress) -> Step | None:
        """Return the step of a progress; None if it is not further on than the last."""
        if progress.stage != self._stage:
            self._stage = progress.stage
            self._before = max(self._last, 0)
        reached = self._before + progress.done
        if reached <= self._last:
            return None
        self._last = reached
        total = float(self._before + progress.total) if progress.total else None
        return float(reached), total, f"{progress.stage} {progress.detail}".strip()
