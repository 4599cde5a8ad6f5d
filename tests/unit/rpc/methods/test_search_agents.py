"""search_agents: every agent's search, contained; one list of hits; one deadline."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
import trio
from msgspec import structs

from memd.agents.agent import Agent
from memd.rpc.agent_hits import merged_hits
from memd.rpc.methods import search_agents
from memd.search.service import MAX_RESULTS_WITHIN_BUDGET
from memd_client.errors import AgentUnknownError, IndexIOError, QueryEmptyError
from memd_client.messages import Hit, PendingChanges, SearchAgentsParams, SearchReply
from tests.support.registry import FakeAgent, FakeRegistry
from tests.unit.rpc.methods.calling import call_of, run


def _turn_off(agent: FakeAgent) -> None:
    """Turn an agent's memory off in its settings."""
    agent.config = msgspec.structs.replace(
        agent.config, settings=msgspec.structs.replace(agent.config.settings, enabled=False)
    )


def test_the_hits_of_all_agents_say_whose_they_are() -> None:
    reply = run(search_agents.handle(call_of(), SearchAgentsParams(query="tea")))

    assert [(hit.agent, hit.snippet) for hit in reply.hits] == [("main", "tea"), ("other", "tea")]
    assert [(row.agent, row.mode, row.error) for row in reply.agents] == [
        ("main", "keyword", None),
        ("other", "keyword", None),
    ]


def test_the_agents_named_are_searched_once_each_in_their_order() -> None:
    memory = FakeRegistry()
    params = SearchAgentsParams(query="tea", agents=["other", "main", "other"], max_results=1)

    reply = run(search_agents.handle(call_of(memory), params))

    assert [row.agent for row in reply.agents] == ["other", "main"]
    assert [hit.agent for hit in reply.hits] == ["other"]
    assert (memory.main.searches, memory.other.searches) == (1, 1)


def test_a_file_that_two_agents_share_is_one_hit() -> None:
    memory = FakeRegistry()
    memory.other.config = msgspec.structs.replace(memory.other.config, workspace=memory.main.config.workspace)

    params = SearchAgentsParams(query="tea")
    reply = run(search_agents.handle(call_of(memory), params))

    assert [hit.agent for hit in reply.hits] == ["main"]
    assert [row.agent for row in reply.agents] == ["main", "other"]


def test_an_agent_whose_memory_is_off_is_left_out_unless_it_is_named() -> None:
    memory = FakeRegistry()
    _turn_off(memory.other)

    reply = run(search_agents.handle(call_of(memory), SearchAgentsParams(query="tea")))

    assert [row.agent for row in reply.agents] == ["main"]
    assert memory.other.searches == 0
    run(search_agents.handle(call_of(memory), SearchAgentsParams(query="tea", agents=["other"])))
    assert memory.other.searches == 1  # and answers with the error that its row has


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (IndexIOError("the disk is full"), "index_io"),
        (ExceptionGroup("", [IndexIOError("the disk is full")]), "index_io"),
        (TypeError("search() got an unexpected keyword argument 'secret-of-the-user'"), "internal"),
    ],
)
def test_an_agents_failure_is_its_row_and_the_others_answer(failure: Exception, code: str) -> None:
    memory = FakeRegistry()
    memory.main.failure = failure

    reply = run(search_agents.handle(call_of(memory), SearchAgentsParams(query="tea")))

    assert [hit.agent for hit in reply.hits] == ["other"]
    first, second = reply.agents
    assert first.error is not None
    assert (first.error.code, first.mode, second.error) == (code, "", None)
    assert "secret" not in first.error.message


@pytest.mark.parametrize("deadline_ms", [None, 500])
def test_an_agent_that_hangs_is_given_up_and_costs_no_other_its_hits(deadline_ms: int | None) -> None:
    memory = FakeRegistry()
    memory.main.hang_search = True
    params = SearchAgentsParams(query="tea", deadline_ms=deadline_ms)

    reply = run(search_agents.handle(call_of(memory), params))

    assert [hit.agent for hit in reply.hits] == ["other"]
    assert reply.agents[0].error is not None
    assert reply.agents[0].error.code == "deadline_exceeded"
    assert memory.main.cancelled == 1


def test_time_spent_waiting_for_a_turn_counts_against_the_one_deadline() -> None:
    memory = FakeRegistry()

    @asynccontextmanager
    async def turn(method: str) -> AsyncIterator[None]:
        assert method == "search"
        await trio.sleep(0.3)
        yield

    call = replace(call_of(memory), slot=turn)
    run(search_agents.handle(call, SearchAgentsParams(query="tea", deadline_ms=500, agents=["main"])))

    assert memory.main.asked is not None
    assert memory.main.asked.deadline_ms == pytest.approx(200, abs=2)


def test_the_other_parameters_are_those_of_each_agents_search() -> None:
    memory = FakeRegistry()
    given: dict[str, Any] = {
        "min_score": 0.2,
        "sources": ["memory"],
        "path": "memory/",
        "explain": True,
        "lexical_only": True,
    }

    run(search_agents.handle(call_of(memory), SearchAgentsParams(query="tea", **given)))

    asked = memory.other.asked
    assert asked is not None
    assert {name: getattr(asked, name) for name in given} == given
    assert (asked.agent, asked.max_results) == ("other", memory.main.config.settings.query.max_results)


@pytest.mark.parametrize(
    ("error", "params"),
    [
        (AgentUnknownError, SearchAgentsParams(query="tea", agents=["main", "nobody"])),
        (QueryEmptyError, SearchAgentsParams(query=" \n")),
    ],
)
def test_a_request_that_is_wrong_is_refused_before_anything_is_searched(
    error: type[Exception], params: SearchAgentsParams
) -> None:
    memory = FakeRegistry()

    with pytest.raises(error):
        run(search_agents.handle(call_of(memory), params))

    assert memory.main.searches == 0


def _hit(path: str, score: float, source: str = "memory") -> Hit:
    """Return a hit."""
    return Hit(path, 1, 3, score, None, None, path, source, path)


def _reply(*hits: Hit, mode: str = "hybrid", space: str = "a") -> SearchReply:
    """Return what an agent's search answered."""
    return SearchReply("", list(hits), mode, None, not hits, 1.0, "p", "m", 1, PendingChanges(), space=space)


A, B = FakeAgent("a"), FakeAgent("b")
LOW = _reply(_hit("a1", 0.5), _hit("a2", 0.4))
HIGH = _hit("b1", 0.9), _hit("b2", 0.8)
BY_SCORE, BY_RANK = ["b1", "b2", "a1", "a2"], ["a1", "b1", "a2", "b2"]


def merged(
    *searched: tuple[FakeAgent, SearchReply], most: int = 10, max_chars: int | None = None
) -> list[Hit]:
    """Return the merged hits of agents."""
    return merged_hits([(cast(Agent, agent), reply) for agent, reply in searched], most, max_chars)


def _paths(first: SearchReply, second: SearchReply, other: FakeAgent = B) -> list[str]:
    """Return the order of the hits of two agents."""
    return [hit.path for hit in merged((A, first), (other, second))]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (LOW, _reply(*HIGH), BY_SCORE),
        (LOW, _reply(*HIGH, mode="keyword"), BY_RANK),
        (LOW, _reply(*HIGH, space="b"), BY_RANK),
        (structs.replace(LOW, mode="keyword"), _reply(*HIGH, mode="keyword", space="b"), BY_SCORE),
    ],
    ids=["alike", "another mode", "another space", "keywords, whatever the space"],
)
def test_scores_are_compared_only_if_they_were_made_alike(
    first: SearchReply, second: SearchReply, expected: list[str]
) -> None:
    assert _paths(first, second) == expected


def test_scores_of_agents_with_other_hybrid_settings_are_not_compared() -> None:
    other, settings = FakeAgent("b"), B.config.settings
    query = msgspec.structs.replace(
        settings.query, hybrid=msgspec.structs.replace(settings.query.hybrid, fusion="rrf")
    )
    other.config = msgspec.structs.replace(
        other.config, settings=msgspec.structs.replace(settings, query=query)
    )

    assert _paths(LOW, _reply(*HIGH), other) == BY_RANK


def test_an_agent_without_hits_does_not_make_the_others_incomparable() -> None:
    searched = [(A, LOW), (FakeAgent("c"), _reply(mode="keyword")), (B, _reply(*HIGH))]

    assert [hit.path for hit in merged(*searched)] == BY_SCORE


def test_budget_of_all_agents_ends_at_the_first_hit_that_does_not_fit() -> None:
    lengths = {"b1": 260, "b2": 260, "a1": 560, "a2": 10}
    first = _reply(*(structs.replace(hit, snippet="x" * lengths[hit.path]) for hit in LOW.hits))
    second = _reply(*(structs.replace(hit, snippet="x" * lengths[hit.path]) for hit in HIGH))

    shown = [
        [hit.path for hit in merged((A, first), (B, second), max_chars=most)] for most in (599, 1_100, 1_300)
    ]

    assert shown == [["b1"], ["b1", "b2"], BY_SCORE]


@pytest.mark.parametrize(("max_chars", "of_each"), [(80, 67), (899, 886), (2_000, 2_900)])
def test_search_of_each_agent_includes_the_hit_that_ends_the_list(max_chars: int, of_each: int) -> None:
    memory = FakeRegistry()

    run(search_agents.handle(call_of(memory), SearchAgentsParams(query="tea", max_chars=max_chars)))

    assert memory.other.asked is not None
    assert memory.other.asked.max_chars == of_each
    assert memory.other.asked.max_results == MAX_RESULTS_WITHIN_BUDGET


def test_lines_of_a_file_that_agents_share_leave_their_place_to_the_next_hit() -> None:
    sharing = FakeAgent("b")
    sharing.config = msgspec.structs.replace(sharing.config, workspace=A.config.workspace)
    same = _reply(_hit("x", 0.9), _hit("y", 0.5))

    hits = merged((A, same), (sharing, same), most=2)

    assert [(hit.agent, hit.path) for hit in hits] == [("a", "x"), ("a", "y")]


def test_a_transcript_and_an_absolute_path_are_those_of_one_agent_and_of_both() -> None:
    outside = str(Path("/notes/x.md"))
    talk, extra = _hit("sessions/1", 0.9, "sessions"), _hit(outside, 0.5)

    hits = merged((A, _reply(talk, extra)), (B, _reply(talk, extra)))

    assert [(hit.agent, hit.path) for hit in hits] == [
        ("a", "sessions/1"),
        ("b", "sessions/1"),
        ("a", outside),
    ]
