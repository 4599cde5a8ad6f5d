"""search: a question to the agent meant, checked first."""

from __future__ import annotations

import pytest

from memd.rpc.methods import search
from memd_client.errors import AgentUnknownError
from memd_client.messages import SearchParams
from tests.support.agents import BlockingRegistry
from tests.unit.rpc.methods.calling import call_of


def test_the_agent_meant_is_asked(memory: BlockingRegistry) -> None:
    call = call_of(memory.registry)
    for asked, answering in ((None, "main"), ("other", "other")):
        reply = memory.run(search.handle, call, SearchParams(query="port", agent=asked))
        assert reply.agent == answering
        assert f"Memory of {answering}" in reply.hits[0].snippet
    with pytest.raises(AgentUnknownError):
        memory.run(search.handle, call, SearchParams(query="port", agent="nobody"))
