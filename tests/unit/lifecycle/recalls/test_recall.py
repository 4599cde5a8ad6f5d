"""Which requests are recalls, and what is logged of each."""

from __future__ import annotations

from typing import Any

import pytest

from memd.lifecycle.recalls.recall import MAX_SHOWN, recall_of
from memd_client.facts import (
    FactRow,
    FactsForPromptParams,
    FactsForPromptReply,
    MemoryRecallParams,
    MemoryRecallReply,
)
from memd_client.messages import (
    CallToolParams,
    CallToolReply,
    ContextFile,
    FilesParams,
    FilesReply,
    Hit,
    PendingChanges,
    SearchAgentsParams,
    SearchAgentsReply,
    SearchedAgent,
    SearchParams,
    SearchReply,
    SessionStartedParams,
    SessionStartedReply,
)
from memd_client.usage import MCP_CLIENT, MEASURING

FACT = FactRow("id", "dark mode", 0.5, "preference", None, 0.9, "MEMORY.md", 4)
ROW = {"path": "a.md", "startLine": 3, "endLine": 9, "snippet": "text", "relevance": "weak"}


def hit(relevance: str = "strong", agent: str | None = None) -> Hit:
    """Return a hit with a snippet of four characters."""
    return Hit("a.md", 3, 9, 1.0, None, 1.0, "text", "memory", "a.md#L3-L9", relevance=relevance, agent=agent)


def reply_of(*hits: Hit) -> SearchReply:
    """Return the reply to a search."""
    return SearchReply("main", list(hits), "keyword", None, False, 1.0, "none", "", 1, PendingChanges())


@pytest.mark.parametrize(
    ("relevances", "outcome"), [((), "none"), (("weak",), "weak"), (("weak", "strong"), "strong")]
)
def test_a_search_is_logged_with_its_session_and_best_hit(relevances: tuple[str, ...], outcome: str) -> None:
    params = SearchParams("which port", exclude_session="s1", caller="script")

    recall = recall_of(params, reply_of(*map(hit, relevances)), "memd-client")

    assert recall is not None
    assert (recall.way, recall.program, recall.session, recall.query) == (
        "search",
        "script",
        "s1",
        "which port",
    )
    assert (recall.agents, recall.outcome) == (("main",), outcome)
    assert [(shown.place, shown.relevance, shown.chars) for shown in recall.shown] == [
        ("a.md#L3-L9", relevance, 4) for relevance in relevances
    ]


def test_a_client_that_names_no_caller_is_named_by_its_greeting() -> None:
    recall = recall_of(SearchParams("port"), reply_of(*[hit()] * 99), "memctl")

    assert recall is not None
    assert (recall.program, len(recall.shown)) == ("memctl", MAX_SHOWN)


def test_a_search_of_several_agents_names_them_all() -> None:
    reply = SearchAgentsReply([hit(agent="work")], [SearchedAgent("main"), SearchedAgent("work")], 1.0)

    recall = recall_of(SearchAgentsParams("port"), reply, "")

    assert recall is not None
    assert (recall.agents, recall.shown[0].agent) == (("main", "work"), "work")


@pytest.mark.parametrize(("client", "way"), [(MCP_CLIENT, "mcp"), ("openclaw-plugin", "tool")])
@pytest.mark.parametrize(
    ("result", "place", "outcome"),
    [
        ({"results": [ROW]}, "a.md#L3-L9", "weak"),
        ({"facts": [{"path": "MEMORY.md", "line": 4, "text": "dark"}]}, "MEMORY.md#L4", "strong"),
    ],
)
def test_a_tool_call_is_logged_by_its_result(
    client: str, way: str, result: dict[str, Any], place: str, outcome: str
) -> None:
    params = CallToolParams("memory_search", {"query": "port"}, session_key="agent:main:main", caller="codex")

    recall = recall_of(params, CallToolReply("main", "memory_search", True, result, ""), client)

    assert recall is not None
    assert (recall.way, recall.program, recall.session) == (way, "codex", "agent:main:main")
    assert (recall.query, recall.shown[0].place, recall.outcome) == ("port", place, outcome)


def test_arguments_as_text_are_read_and_measurements_are_no_recalls() -> None:
    reply = CallToolReply("main", "memory_search", True, {"results": []}, "")

    recall = recall_of(CallToolParams("memory_search", '{"query": "port"}'), reply, "")

    assert recall is not None
    assert recall.query == "port"
    assert recall_of(SearchParams("port", caller=MEASURING), reply_of(hit()), "memctl") is None


@pytest.mark.parametrize("arguments", [None, "not JSON", {"query": 3}, {"query": None}, []])
def test_arguments_of_any_type_are_accepted(arguments: Any) -> None:
    reply = CallToolReply("main", "memory_search", True, {"results": []}, "")

    recall = recall_of(CallToolParams("memory_search", arguments), reply, "")

    assert recall is not None
    assert isinstance(recall.query, str)


def test_facts_and_start_up_context_are_recalls() -> None:
    prompt = recall_of(FactsForPromptParams("I prefer"), FactsForPromptReply("main", "x", "", [FACT]), "p")
    facts = recall_of(MemoryRecallParams("mode"), MemoryRecallReply("main", [FACT], "words", 1), "p")
    files = [ContextFile("MEMORY.md", 40, 90), ContextFile("memory/b.md", 0, 9)]
    start = recall_of(
        SessionStartedParams("agent:main:main"), SessionStartedReply("main", False, files=files), "p"
    )

    assert prompt is not None
    assert facts is not None
    assert start is not None
    assert (prompt.way, prompt.shown[0].place) == ("prompt", "MEMORY.md#L4")
    assert (facts.way, facts.shown[0].chars) == ("search", 9)
    assert (start.way, [(shown.place, shown.chars) for shown in start.shown]) == (
        "start",
        [("MEMORY.md", 40)],
    )


@pytest.mark.parametrize(
    ("params", "reply"),
    [
        (FilesParams(), FilesReply("main", [], 0)),
        (CallToolParams("memory_search"), CallToolReply("main", "memory_search", False, {"error": "x"}, "")),
        (CallToolParams("memory_get"), CallToolReply("main", "memory_get", True, {"text": "x"}, "")),
        (MemoryRecallParams(""), MemoryRecallReply("main", [FACT], "none", 1)),
    ],
)
def test_other_requests_recall_nothing(params: Any, reply: Any) -> None:
    assert recall_of(params, reply, "memctl") is None
