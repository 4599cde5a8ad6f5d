"""search_agents: every agent's search, contained; one list of hits; one deadline."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import msgspec
import pytest
import trio

from memd.rpc.methods import search_agents
from memd_client.errors import AgentUnknownError, BadParamsError, IndexIOError, QueryEmptyError
from memd_client.messages import SearchAgentsParams
from tests.support.memory import FakeAgent, FakeMemory
from tests.unit.rpc.methods.calling import call_of, run


def _turn_off(agent: FakeAgent) -> None:
    """Turn an agent's memory off in its settings."""
    agent.config = replace(
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
    memory = FakeMemory()
    params = SearchAgentsParams(query="tea", agents=["other", "main", "other"], max_results=1)

    reply = run(search_agents.handle(call_of(memory), params))

    assert [row.agent for row in reply.agents] == ["other", "main"]
    assert [hit.agent for hit in reply.hits] == ["other"]
    assert (memory.main.searches, memory.other.searches) == (1, 1)


def test_a_file_that_two_agents_share_is_one_hit() -> None:
    memory = FakeMemory()
    memory.other.config = replace(memory.other.config, workspace=memory.main.config.workspace)

    params = SearchAgentsParams(query="tea")
    reply = run(search_agents.handle(call_of(memory), params))

    assert [hit.agent for hit in reply.hits] == ["main"]
    assert [row.agent for row in reply.agents] == ["main", "other"]


def test_an_agent_whose_memory_is_off_is_left_out_unless_it_is_named() -> None:
    memory = FakeMemory()
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
    memory = FakeMemory()
    memory.main.failure = failure

    reply = run(search_agents.handle(call_of(memory), SearchAgentsParams(query="tea")))

    assert [hit.agent for hit in reply.hits] == ["other"]
    first, second = reply.agents
    assert first.error is not None
    assert (first.error.code, first.mode, second.error) == (code, "", None)
    assert "secret" not in first.error.message


@pytest.mark.parametrize("deadline_ms", [None, 500])
def test_an_agent_that_hangs_is_given_up_and_costs_no_other_its_hits(deadline_ms: int | None) -> None:
    memory = FakeMemory()
    memory.main.hang_search = True
    params = SearchAgentsParams(query="tea", deadline_ms=deadline_ms)

    reply = run(search_agents.handle(call_of(memory), params))

    assert [hit.agent for hit in reply.hits] == ["other"]
    assert reply.agents[0].error is not None
    assert reply.agents[0].error.code == "deadline_exceeded"
    assert memory.main.cancelled == 1


def test_time_spent_waiting_for_a_turn_counts_against_the_one_deadline() -> None:
    memory = FakeMemory()

    @asynccontextmanager
    async def turn(method: str) -> AsyncIterator[None]:
        assert method == "search"
        await trio.sleep(0.3)
        yield

    call = replace(call_of(memory), turn=turn)
    run(search_agents.handle(call, SearchAgentsParams(query="tea", deadline_ms=500, agents=["main"])))

    assert memory.main.asked is not None
    assert memory.main.asked.deadline_ms == pytest.approx(200, abs=2)


def test_the_other_parameters_are_those_of_each_agents_search() -> None:
    memory = FakeMemory()
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
        (BadParamsError, SearchAgentsParams(query="tea", agents=[])),
        (BadParamsError, SearchAgentsParams(query="tea", max_results=0)),
        (QueryEmptyError, SearchAgentsParams(query=" \n")),
    ],
)
def test_a_request_that_is_wrong_is_refused_before_anything_is_searched(
    error: type[Exception], params: SearchAgentsParams
) -> None:
    memory = FakeMemory()

    with pytest.raises(error):
        run(search_agents.handle(call_of(memory), params))

    assert memory.main.searches == 0
