"""Tool calls: search of all agents, and monotonic progress."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from msgspec.structs import replace

from memd.mcp.scope import AgentScope
from memd.mcp.tool_calls import ProgressSteps, all_agents_result, carry_out
from memd_client.aio import AsyncioClient
from memd_client.errors import AgentUnknownError, DaemonUnreachableError, MemdError
from memd_client.messages import (
    CallToolReply,
    Degradation,
    EmptyResult,
    Hit,
    Problem,
    Progress,
    SearchAgentsReply,
    SearchedAgent,
    Supersession,
)
from memd_client.prepared_request import PreparedRequest
from memd_client.tooling import DEFAULT_SEARCH_CHARS

HIT = Hit(
    "MEMORY.md", 3, 3, 0.5, None, 2.0, "Keys: with the neighbour.", "memory", "MEMORY.md#L3", agent="home"
)


class ScriptedMcpClient:
    """A client with scripted replies by name that records requests."""

    def __init__(self, **replies: object) -> None:
        self.replies = replies
        self.asked: list[tuple[str, Any]] = []

    @asynccontextmanager
    async def follow(self, ask: PreparedRequest[Any]) -> AsyncIterator[Any]:
        self.asked.append((ask.method, ask.params))
        reply = self.replies[ask.method]
        if isinstance(reply, MemdError):
            raise reply
        yield EmptySteps(reply)

    async def status(self) -> Any:
        raise DaemonUnreachableError("no daemon")


class EmptySteps:
    """A stream without steps, and its reply."""

    def __init__(self, reply: object) -> None:
        self.reply = reply

    async def __aiter__(self) -> AsyncIterator[Any]:
        steps: list[Any] = []
        for each in steps:
            yield each


NO_ALL = AgentUnknownError("there is no agent 'all'")


def call(client: ScriptedMcpClient, agent: str | None, **arguments: Any) -> Any:
    """Return the result of a search of the agent `all`."""
    scope = AgentScope(cast(AsyncioClient, client), agent)
    return asyncio.run(carry_out(scope, "memory_search", {"agent": "all", **arguments}))


@pytest.mark.parametrize("fixed", ["home", "all"])
def test_server_of_one_agent_never_searches_all_agents(fixed: str) -> None:
    client = ScriptedMcpClient(call_tool=NO_ALL, search_agents=SearchAgentsReply([HIT], [], 1.0))

    result = call(client, fixed, query="keys")

    assert result.failed
    assert "search_agents" not in [name for name, _ in client.asked]


def test_agent_with_the_id_all_is_searched_alone() -> None:
    client = ScriptedMcpClient(
        call_tool=CallToolReply("all", "memory_search", True, {"results": [], "mode": "keyword"}, "")
    )

    assert not call(client, None, query="keys").failed

    assert [(name, params.agent) for name, params in client.asked] == [("call_tool", "all")]


def test_errors_and_degradation_are_shown_by_agent() -> None:
    refused = Degradation("provider_failed", "openai answered 401.", 1, "Correct it.")
    rows = [
        SearchedAgent("home", "keyword", degraded=refused),
        SearchedAgent("old", error=Problem("index_newer", "the index is newer", "Update memd.")),
        SearchedAgent("work", "hybrid"),
    ]
    client = ScriptedMcpClient(call_tool=NO_ALL, search_agents=SearchAgentsReply([HIT], rows, 1.0))

    result = call(client, None, query="keys", maxResults=3, maxChars=900, minScore=0)

    assert result.data is not None
    assert result.data["mode"] == "mixed"
    assert result.data["results"][0]["agent"] == "home"
    assert "MEMORY.md#L3  agent home" in result.text
    assert "Agent home, degraded: openai answered 401. Correct it." in result.text
    assert "Agent old was not searched: the index is newer Update memd." in result.text
    asked = client.asked[-1][1]
    assert (asked.query, asked.agents, asked.max_results, asked.min_score) == ("keys", None, 3, 0)
    assert asked.max_chars == 900


def test_search_of_all_agents_has_the_default_budget_and_marks_hits() -> None:
    later = Supersession("b.md", 4, 4, "b.md#L4", "2026-02-01", "2026-01-16")
    hits = [HIT, replace(HIT, relevance="weak", superseded_by=later)]
    client = ScriptedMcpClient(call_tool=NO_ALL, search_agents=SearchAgentsReply(hits, [], 1.0))

    result = call(client, None, query="keys")

    asked = client.asked[-1][1]
    assert (asked.max_results, asked.max_chars) == (None, DEFAULT_SEARCH_CHARS)
    strong, weak = result.data["results"]
    assert not {"relevance", "supersededBy"} & set(strong)
    assert (weak["relevance"], weak["supersededBy"]) == ("weak", "b.md#L4 (2026-02-01)")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "`query` must be a text"),
        ({"query": " "}, "`query` must be a text"),
        ({"query": "x", "maxResults": True}, "`maxResults` must be a whole number"),
        ({"query": "x", "maxChars": 0}, "`maxChars` must be a whole number"),
        ({"query": "x", "minScore": "0.5"}, "`minScore` must be a number"),
        ({"query": "x", "depth": 2}, "no argument 'depth'"),
    ],
)
def test_invalid_call_returns_expected_arguments_without_a_search(
    arguments: dict[str, Any], said: str
) -> None:
    client = ScriptedMcpClient(call_tool=NO_ALL)

    result = call(client, None, **arguments)

    assert result.failed
    assert said in result.text
    assert "Example:" in result.text
    assert [name for name, _ in client.asked] == ["call_tool"]


def test_unreachable_daemon_is_a_result() -> None:
    client = ScriptedMcpClient(call_tool=NO_ALL, search_agents=DaemonUnreachableError("no daemon"))

    assert "daemon_unreachable" in call(client, None, query="keys").text


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        (("No relevant results.",) * 2, "No relevant results."),
        (("No notes.", "No relevant results."), "Agent home: No notes. Agent work: No relevant results."),
    ],
)
def test_search_without_hits_has_one_reason_or_one_per_agent(messages: tuple[str, str], reason: str) -> None:
    rows = [
        SearchedAgent(agent, mode="keyword", empty=EmptyResult("no_match", message, "hint"))
        for agent, message in zip(("home", "work"), messages, strict=True)
    ]

    assert all_agents_result(SearchAgentsReply([], rows, 1.0))["reason"] == reason


def report(stage: str, done: int, total: int = 0) -> Progress:
    """Return a progress message of the daemon."""
    return Progress(id=1, stage=stage, done=done, total=total, detail="")


def test_progress_adds_up_the_stages() -> None:
    steps = ProgressSteps()

    told = [steps.next(report(*each)) for each in (("text", 1, 2), ("text", 2, 2), ("embedding", 3, 4))]

    assert told == [(1, 2, "text"), (2, 2, "text"), (5, 6, "embedding")]


def test_progress_that_does_not_grow_is_skipped() -> None:
    steps = ProgressSteps()

    assert [steps.next(report("text", done)) for done in (3, 3, 2, 4)] == [
        (3, None, "text"),
        None,
        None,
        (4, None, "text"),
    ]
