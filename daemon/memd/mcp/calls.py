"""A tool call of an MCP client, carried out by the daemon."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from memd.mcp.all_agents import ALL_AGENTS, answer_of, search_of
from memd.mcp.definitions import APPEND_NOTE, TOOLS, Tool
from memd.mcp.reach import Reach
from memd.mcp.readable import say, say_error, say_wrong
from memd_client import life_requests
from memd_client.ask import Ask
from memd_client.errors import AgentUnknownError, BadParamsError, MemdError
from memd_client.messages import Progress
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
        answer = answer_of(await _replied(reach, search_of(given), on_progress))
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
