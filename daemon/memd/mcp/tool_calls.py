"""Tool calls of an MCP client, executed by the daemon."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memd.mcp.definitions import ALL_AGENTS, MAX_RESULTS, TOOLS, WORK_TOOLS, Tool
from memd.mcp.own_requests import OWN_REQUESTS, check_arguments
from memd.mcp.result_text import answer_text, error_text, wrong_call_text
from memd.mcp.scope import SHARED_AGENT, AgentScope
from memd.system.untrusted import on_one_line
from memd_client import requests
from memd_client.errors import AgentUnknownError, BadParamsError, FileMissingError, MemdError
from memd_client.escaping import mark_outside
from memd_client.hit_text import NO_STRONG_MATCH, are_all_weak, row_of_hit
from memd_client.messages import Progress, SearchAgentsReply, SearchedAgent
from memd_client.prepared_request import PreparedRequest
from memd_client.schema import to_wire
from memd_client.tooling import DEFAULT_SEARCH_CHARS, MAX_SEARCH_CHARS

OnProgress = Callable[[Progress], Awaitable[None]]

BOTH_AGENTS = ("memory_search", "memory_get")
"""Tools that, without an agent, read the memory of the default agent and of `shared`."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call: a text, and the same as data; no data if the call failed."""

    text: str
    data: dict[str, Any] | None = None

    @property
    def failed(self) -> bool:
        """Whether the text is an error."""
        return self.data is None


async def carry_out(
    scope: AgentScope, name: str, arguments: Mapping[str, Any], on_progress: OnProgress | None = None
) -> ToolResult:
    """Execute a call. Invalid calls return a text with the expected arguments.

    On cancellation, the daemon cancels the request.
    """
    tool = TOOLS.get(name)
    if tool is None:
        return ToolResult(
            wrong_call_text({"error": f"no tool {name[:60]!r}", "expected": f"one of {', '.join(TOOLS)}"})
        )
    given = dict(arguments)
    may_mean_all = tool.takes_all and scope.agent is None and given.get("agent") == ALL_AGENTS
    try:
        agent = scope.checked(given.pop("agent", None))
        both = await scope.default_and_shared() if agent is None and name in BOTH_AGENTS else ()
        if both and tool.takes_all:
            return await _search_agents(scope, tool, given, on_progress, both)
        if name in OWN_REQUESTS:
            return await _ask_or_shared(scope, tool, agent, given, on_progress)
        for owner in both or (agent,):
            ask = requests.call_tool(
                name, given, agent=owner, include_conversations=True, caller=scope.caller
            )
            ask.repeatable = tool.repeatable
            reply = await _send(scope, ask, on_progress)
            if reply.ok:
                break
        return (
            ToolResult(answer_text(name, reply.result), reply.result)
            if reply.ok
            else ToolResult(wrong_call_text(reply.result))
        )
    except AgentUnknownError as error:
        if may_mean_all:
            return await _search_agents(scope, tool, given, on_progress)
        return ToolResult("\n".join([error_text(error), *await _known_agents(scope)]))
    except MemdError as error:
        return ToolResult(error_text(error))


async def _search_agents(
    scope: AgentScope,
    tool: Tool,
    given: dict[str, Any],
    on_progress: OnProgress | None,
    agents: Sequence[str] | None = None,
) -> ToolResult:
    """Search the memory of some agents; None: of all."""
    try:
        answer = all_agents_result(
            await _send(scope, _search_request(given, scope.caller, agents), on_progress)
        )
    except BadParamsError as error:
        return _wrong(tool, error.message)
    except MemdError as error:
        return ToolResult(error_text(error))
    answer = mark_outside(answer)
    return ToolResult(answer_text(tool.name, answer), answer)


async def _ask_or_shared(
    scope: AgentScope, tool: Tool, agent: str | None, given: dict[str, Any], on_progress: OnProgress | None
) -> ToolResult:
    """Execute a tool; conversations that the default agent lacks are looked for in the agent `shared`."""
    is_open = agent is None and SHARED_AGENT in await scope.agents_or_none()
    try:
        result = await _ask_own(scope, tool, agent, given, on_progress)
    except FileMissingError:
        if not is_open:
            raise
        return await _ask_own(scope, tool, SHARED_AGENT, given, on_progress)
    if is_open and result.data is not None and result.data.get("conversations") == []:
        return await _ask_own(scope, tool, SHARED_AGENT, given, on_progress)
    return result


async def _ask_own(
    scope: AgentScope, tool: Tool, agent: str | None, given: dict[str, Any], on_progress: OnProgress | None
) -> ToolResult:
    """Execute a tool that is a request of its own."""
    try:
        check_arguments(tool, given)
        answer = to_wire(await _send(scope, OWN_REQUESTS[tool.name](given, agent, scope.caller), on_progress))
    except BadParamsError as error:
        return _wrong(tool, error.message)
    marked = mark_outside(answer)
    # The lines of work are cut, so they are marked after that.
    return ToolResult(answer_text(tool.name, answer if tool.name in WORK_TOOLS else marked), marked)


def _wrong(tool: Tool, error: str) -> ToolResult:
    """Return the result of an invalid call, with the expected arguments."""
    expected = "; ".join(
        f"{name}: {facts['description']}{'' if name in tool.required else ' Optional.'}"
        for name, facts in tool.properties.items()
    )
    return ToolResult(wrong_call_text({"error": error, "expected": expected, "example": tool.example}))


async def _send(scope: AgentScope, ask: PreparedRequest[Any], on_progress: OnProgress | None) -> Any:
    """Send a request, forward its progress, and return its reply."""
    async with scope.client.follow(ask) as steps:
        async for step in steps:
            if on_progress is not None:
                await on_progress(step)
    return steps.reply


async def _known_agents(scope: AgentScope) -> list[str]:
    """Return a line with the known agents; none if the daemon doesn't reply."""
    agents = await scope.agents_or_none()
    return [f"Known agents: {', '.join(map(on_one_line, agents))}."] if agents else []


# --- a search of all agents ------------------------------------------------------------------------------


def _search_request(
    arguments: Mapping[str, Any], caller: str, agents: Sequence[str] | None
) -> PreparedRequest[SearchAgentsReply]:
    """Return the request for a call; the daemon checks ranges."""
    known = ("query", "maxResults", "maxChars", "minScore", "origin")
    query, most, chars, least, origin = (arguments.get(name) for name in known)
    unknown = arguments.keys() - set(known)
    if unknown:
        raise BadParamsError(f"memory_search has no argument {min(map(str, unknown))[:60]!r}")
    if not isinstance(query, str) or not query.strip():
        raise BadParamsError("memory_search: `query` must be a text that is not empty")
    for name, number, highest in (("maxResults", most, MAX_RESULTS), ("maxChars", chars, MAX_SEARCH_CHARS)):
        if number is not None and (type(number) is not int or not 1 <= number <= highest):
            raise BadParamsError(f"memory_search: `{name}` must be a whole number from 1 to {highest}")
    if least is not None and type(least) not in (int, float):
        raise BadParamsError("memory_search: `minScore` must be a number")
    budget = DEFAULT_SEARCH_CHARS if chars is None else chars
    return requests.search_agents(
        query,
        agents=agents,
        max_results=most,
        max_chars=budget,
        min_score=least,
        limit_weak=True,
        caller=caller,
        origins=None if origin is None else [origin],
    )


def all_agents_result(reply: SearchAgentsReply) -> dict[str, Any]:
    """Return a reply as the tool's result; `mode` is `mixed` if the agents' modes differ."""
    answer: dict[str, Any] = {
        "results": [row_of_hit(hit) for hit in reply.hits],
        "mode": _mode(reply.agents),
        "agents": [_agent(row) for row in reply.agents],
    }
    if are_all_weak(reply.hits):
        answer["note"] = NO_STRONG_MATCH
    if reason := "" if reply.hits else _reason(reply.agents):
        answer["reason"] = reason
    return answer


def _reason(rows: Sequence[SearchedAgent]) -> str:
    """Return why no agent has a hit: one reason if it is the same for all, else one per agent."""
    reasons = {row.agent: row.empty.message for row in rows if row.empty is not None}
    if len(set(reasons.values())) <= 1:
        return next(iter(reasons.values()), "")
    return " ".join(f"Agent {on_one_line(agent)}: {message}" for agent, message in reasons.items())


def _mode(rows: Sequence[SearchedAgent]) -> str:
    modes = {row.mode for row in rows if row.error is None}
    return modes.pop() if len(modes) == 1 else "mixed" if modes else "none"


def _agent(row: SearchedAgent) -> dict[str, Any]:
    """Return how an agent was searched, with `error` or `degraded` if there is one."""
    result: dict[str, Any] = {"agent": row.agent, "mode": row.mode}
    if row.error is not None:
        result["error"] = {"code": row.error.code, "message": row.error.message, "hint": row.error.hint}
    if row.degraded is not None:
        degraded = row.degraded
        result["degraded"] = {"code": degraded.code, "reason": degraded.reason, "hint": degraded.hint}
    return result


# --- progress --------------------------------------------------------------------------------------------

Step = tuple[float, float | None, str]
"""Amount done, total (None if unknown), and description."""


class ProgressSteps:
    """Converts the stages of one request to MCP's progress, a number that only grows."""

    def __init__(self) -> None:
        self._stage = ""
        self._before = 0
        self._last = -1

    def next(self, progress: Progress) -> Step | None:
        """Return the step of a progress message; None if it doesn't exceed the last."""
        if progress.stage != self._stage:
            self._stage = progress.stage
            self._before = max(self._last, 0)
        reached = self._before + progress.done
        if reached <= self._last:
            return None
        self._last = reached
        total = float(self._before + progress.total) if progress.total else None
        return float(reached), total, f"{progress.stage} {progress.detail}".strip()
