"""Tool calls: a search of all agents, and progress that only grows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from memd.mcp.calls import ProgressSteps, all_agents_answer, carry_out
from memd.mcp.reach import Reach
from memd_client.aio import Client
from memd_client.ask import Ask
from memd_client.errors import AgentUnknownError, DaemonUnreachableError, MemdError
from memd_client.messages import (
    CallToolReply,
    Degraded,
    EmptyResult,
    Hit,
    Problem,
    Progress,
    SearchAgentsReply,
    SearchedAgent,
)

HIT = Hit(
    "MEMORY.md", 3, 3, 0.5, None, 2.0, "Keys: with the neighbour.", "memory", "MEMORY.md#L3", agent="home"
)


class FakeClient:
    """Answers requests by name, or raises; keeps what it was asked."""

    def __init__(self, **replies: object) -> None:
        self.replies = replies
        self.asked: list[tuple[str, Any]] = []

    @asynccontextmanager
    async def follow(self, ask: Ask[Any]) -> AsyncIterator[Any]:
        self.asked.append((ask.method, ask.params))
        reply = self.replies[ask.method]
        if isinstance(reply, MemdError):
            raise reply
        yield Steps(reply)

    async def status(self) -> Any:
        raise DaemonUnreachableError("no daemon")


class Steps:
    """A stream without steps, and its reply."""

    def __init__(self, reply: object) -> None:
        self.reply = reply

    async def __aiter__(self) -> AsyncIterator[Any]:
        steps: list[Any] = []
        for each in steps:
            yield each


NO_ALL = AgentUnknownError("there is no agent 'all'")


def call(client: FakeClient, agent: str | None, **arguments: Any) -> Any:
    """Return the outcome of a search that names the agent `all`."""
    reach = Reach(cast(Client, client), agent)
    return asyncio.run(carry_out(reach, "memory_search", {"agent": "all", **arguments}))


@pytest.mark.parametrize("fixed", ["home", "all"])
def test_a_server_of_one_agent_never_searches_all_of_them(fixed: str) -> None:
    client = FakeClient(call_tool=NO_ALL, search_agents=SearchAgentsReply([HIT], [], 1.0))

    outcome = call(client, fixed, query="keys")

    assert outcome.failed
    assert "search_agents" not in [name for name, _ in client.asked]


def test_an_agent_with_the_id_all_is_the_one_that_is_searched() -> None:
    client = FakeClient(
        call_tool=CallToolReply("all", "memory_search", True, {"results": [], "mode": "keyword"}, "")
    )

    assert not call(client, None, query="keys").failed

    assert [(name, params.agent) for name, params in client.asked] == [("call_tool", "all")]


def test_what_an_agents_part_lacks_is_said_with_its_name() -> None:
    refused = Degraded("provider_failed", "openai answered 401.", 1, "Correct it.")
    rows = [
        SearchedAgent("home", "keyword", degraded=refused),
        SearchedAgent("old", error=Problem("index_newer", "the index is newer", "Update memd.")),
        SearchedAgent("work", "hybrid"),
    ]
    client = FakeClient(call_tool=NO_ALL, search_agents=SearchAgentsReply([HIT], rows, 1.0))

    outcome = call(client, None, query="keys", maxResults=3, minScore=0)

    assert outcome.data is not None
    assert outcome.data["mode"] == "mixed"
    assert outcome.data["results"][0]["agent"] == "home"
    assert "agent home: MEMORY.md#L3-L3" in outcome.text
    assert "Agent home, less than the whole: openai answered 401. Correct it." in outcome.text
    assert "Agent old was not searched: the index is newer Update memd." in outcome.text
    asked = client.asked[-1][1]
    assert (asked.query, asked.agents, asked.max_results, asked.min_score) == ("keys", None, 3, 0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "`query` must be text"),
        ({"query": " "}, "`query` must be text"),
        ({"query": "x", "maxResults": True}, "`maxResults` must be a whole number"),
        ({"query": "x", "minScore": "0.5"}, "`minScore` must be a number"),
        ({"query": "x", "depth": 2}, "no argument 'depth'"),
    ],
)
def test_a_wrong_call_says_what_would_be_right_and_searches_nothing(
    arguments: dict[str, Any], said: str
) -> None:
    client = FakeClient(call_tool=NO_ALL)

    outcome = call(client, None, **arguments)

    assert outcome.failed
    assert said in outcome.text
    assert "Example:" in outcome.text
    assert [name for name, _ in client.asked] == ["call_tool"]


def test_a_daemon_that_went_away_is_an_outcome() -> None:
    client = FakeClient(call_tool=NO_ALL, search_agents=DaemonUnreachableError("no daemon"))

    assert "daemon_unreachable" in call(client, None, query="keys").text


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        (("No relevant results.",) * 2, "No relevant results."),
        (("No notes.", "No relevant results."), "Agent home: No notes. Agent work: No relevant results."),
    ],
)
def test_a_search_without_hits_says_why_once_or_by_agent(messages: tuple[str, str], reason: str) -> None:
    rows = [
        SearchedAgent(agent, mode="keyword", empty=EmptyResult("no_match", message, "hint"))
        for agent, message in zip(("home", "work"), messages, strict=True)
    ]

    assert all_agents_answer(SearchAgentsReply([], rows, 1.0))["reason"] == reason


def report(stage: str, done: int, total: int = 0) -> Progress:
    """Return a progress of the daemon."""
    return Progress(id=1, stage=stage, done=done, total=total, detail="")


def test_stages_are_laid_end_to_end() -> None:
    steps = ProgressSteps()

    told = [steps.next(report(*each)) for each in (("text", 1, 2), ("text", 2, 2), ("embedding", 3, 4))]

    assert told == [(1, 2, "text"), (2, 2, "text"), (5, 6, "embedding")]


def test_what_is_no_news_is_not_told() -> None:
    steps = ProgressSteps()

    assert [steps.next(report("text", done)) for done in (3, 3, 2, 4)] == [
        (3, None, "text"),
        None,
        None,
        (4, None, "text"),
    ]
