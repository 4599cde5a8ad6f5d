"""search: a question to the agent meant, checked first."""

from __future__ import annotations

import pytest

from memd.rpc.methods import search
from memd_client.errors import AgentUnknownError
from memd_client.messages import SearchParams
from tests.unit.rpc.methods.calling import call_of, run


def test_the_agent_meant_is_asked() -> None:
    assert run(search.handle(call_of(), SearchParams(query="x"))).agent == "main"
    assert run(search.handle(call_of(), SearchParams(query="x", agent="other"))).agent == "other"
    with pytest.raises(AgentUnknownError):
        run(search.handle(call_of(), SearchParams(query="x", agent="nobody")))
