"""search: a question to the agent meant, checked first."""

from __future__ import annotations

import math

import pytest

from memd.rpc.checks import MAX_RESULTS
from memd.rpc.methods import search
from memd_client.errors import AgentUnknownError, BadParamsError
from memd_client.messages import SearchParams
from tests.support.memory import FakeMemory
from tests.unit.rpc.methods.calling import call_of, run


def test_the_agent_meant_is_asked() -> None:
    assert run(search.handle(call_of(), SearchParams(query="x"))).agent == "main"
    assert run(search.handle(call_of(), SearchParams(query="x", agent="other"))).agent == "other"
    with pytest.raises(AgentUnknownError):
        run(search.handle(call_of(), SearchParams(query="x", agent="nobody")))


@pytest.mark.parametrize(
    ("field", "params"),
    [
        ("max_results", SearchParams(query="x", max_results=0)),
        ("max_results", SearchParams(query="x", max_results=MAX_RESULTS + 1)),
        ("deadline_ms", SearchParams(query="x", deadline_ms=0)),
        ("min_score", SearchParams(query="x", min_score=math.nan)),
        ("sources", SearchParams(query="x", sources=[])),
        ("sources", SearchParams(query="x", sources=["memory", "mail"])),
        ("active_projects", SearchParams(query="x", active_projects=["a" * 4_097])),
    ],
)
def test_a_value_out_of_range_is_named_before_anything_is_searched(field: str, params: SearchParams) -> None:
    memory = FakeMemory()
    with pytest.raises(BadParamsError, match=f"`{field}`") as caught:
        run(search.handle(call_of(memory), params))
    assert caught.value.data["field"] == field
    assert memory.main.searches == 0


def test_the_bounds_themselves_pass() -> None:
    params = SearchParams(
        query="x", max_results=1000, min_score=0.0, deadline_ms=1, sources=["memory", "sessions"]
    )
    assert run(search.handle(call_of(), params)).hits
