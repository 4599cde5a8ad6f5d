"""Wrong calls are answered with right ones, and slips of a model's pen are taken for what was meant."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memd.lifecycle.tools.definitions import TOOLS
from memd.lifecycle.tools.tools import Tools
from memd_client.errors import AgentReloadingError
from memd_client.limits import MAX_QUERY_CHARS
from memd_client.tooling import CallToolParams, CallToolReply
from tests.support.agents import BlockingAgent


def _call(host: BlockingAgent, name: str, arguments: Any, **params: Any) -> CallToolReply:
    return host.run(Tools(host.agent).call, CallToolParams(name, arguments, **params))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BlockingAgent]:
    """An open agent for all tests of this module: none of them changes it."""
    with BlockingAgent(tmp_path_factory.mktemp("agent")) as host:
        yield host


@pytest.fixture
def host(shared: BlockingAgent) -> BlockingAgent:
    """The agent, which has not been asked for anything yet."""
    shared.agent.searched.clear()
    return shared


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "`query` is missing"),
        (None, "`query` is missing"),
        ("", "`query` is missing"),
        ({"query": ""}, "`query` must be text, not empty"),
        ({"query": " \n"}, "`query` must be text, not empty"),
        ({"query": 7}, "`query` must be text, not empty"),
        ({"query": None}, "`query` is missing"),
        ({"query": "x", "limit": 5}, 'has no argument "limit"'),
        ({"query": "x", 5: 5}, 'has no argument "5"'),
        ({"query": "x", "maxResults": 0}, "a whole number from 1 to 50"),
        ({"query": "x", "maxResults": 2.5}, "a whole number from 1 to 50"),
        ({"query": "x", "maxResults": True}, "a whole number from 1 to 50"),
        ({"query": "x", "maxResults": "many"}, "a whole number from 1 to 50"),
        ({"query": "x", "minScore": float("nan")}, "a number from 0 to 1"),
        ({"query": "x", "minScore": float("inf")}, "a number from 0 to 1"),
        ({"query": "x", "minScore": []}, "a number from 0 to 1"),
        ("{query: x}", "not a JSON object"),
        ('{"query": "\\ud800"}', "not a JSON object"),
        ("[" * 5_000, "not a JSON object"),
        ("[1]", "not a JSON object"),
        ([1], "not a JSON object"),
        (5, "not a JSON object"),
    ],
)
def test_wrong_arguments_are_answered_with_right_ones(host: BlockingAgent, arguments: Any, told: str) -> None:
    reply = _call(host, "memory_search", arguments)

    assert not reply.ok
    assert told in reply.result["error"]
    assert reply.result.keys() == {"error", "expected", "example"}
    assert json.loads(reply.text) == reply.result
    assert host.agent.searched == []
    assert _call(host, "memory_search", reply.result["example"]).ok


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        ({"query": "x", "maxResults": "5"}, 5),
        ({"query": "x", "maxResults": " 5 "}, 5),
        ({"query": "x", "maxResults": 5.0}, 5),
        ('{"query": "x", "maxResults": "5"}', 5),
        ({"query": "x", "maxResults": None}, None),
        ({"query": "x", "maxResults": " "}, None),
        ({"query": "x", "maxResults": 51}, 50),
        ({"query": "x", "maxResults": 10**400}, 50),
    ],
)
def test_a_number_may_be_written_as_text_and_arguments_as_json(
    host: BlockingAgent, arguments: Any, asked: int | None
) -> None:
    assert _call(host, "memory_search", arguments).ok
    assert host.agent.searched[0].max_results == asked


def test_a_score_beyond_its_range_is_its_limit_and_a_long_query_is_cut(host: BlockingAgent) -> None:
    query = "word " * 4_000

    assert _call(host, "memory_search", {"query": query, "minScore": 2, "corpus": ""}).ok
    assert _call(host, "memory_search", {"query": query, "minScore": -1}).ok

    assert [asked.min_score for asked in host.agent.searched] == [1, 0]
    assert host.agent.searched[0].query == query[:MAX_QUERY_CHARS]


def test_no_schema_has_a_limit_that_a_call_may_exceed() -> None:
    """A host checks calls against it, and refuses what the daemon accepts."""
    parameters = [facts for tool in TOOLS.values() for facts in tool.schema()["properties"].values()]

    assert not any("maximum" in facts for facts in parameters)
    assert not any("minimum" in facts for facts in parameters if facts["type"] == "number")


def test_a_question_without_a_word_is_answered(host: BlockingAgent) -> None:
    reply = _call(host, "memory_search", {"query": "?!"})

    assert reply.ok
    assert reply.result["results"] == []
    assert reply.result["reason"]


def test_an_unknown_tool_is_answered_with_those_there_are(host: BlockingAgent) -> None:
    reply = _call(host, "rm -rf\n\u202e" + "x" * 500, {})

    assert not reply.ok
    assert reply.result["expected"] == "one of memory_search, memory_get"
    assert len(reply.result["error"]) < 100
    assert "\n" not in reply.result["error"]
    assert reply.result["example"]["name"] == "memory_search"


def test_what_the_memory_fails_of_is_no_fault_of_the_models(tmp_path: Path) -> None:
    with BlockingAgent(tmp_path) as host:
        host.run(host.agent.close)
        with pytest.raises(AgentReloadingError):
            _call(host, "memory_search", {"query": "x"})


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=60)
@given(
    name=st.sampled_from(["memory_search", "memory_get"]) | st.text(max_size=10),
    arguments=_JSON
    | st.dictionaries(st.sampled_from(["query", "maxResults", "minScore", "path", "from", "lines"]), _JSON),
)
def test_whatever_a_model_writes_is_answered(shared: BlockingAgent, name: str, arguments: Any) -> None:
    reply = _call(shared, name, arguments)

    assert json.loads(reply.text) == reply.result
    assert reply.ok or reply.result.keys() == {"error", "expected", "example"}
