"""get: lines of the agent's files, checked first."""

from __future__ import annotations

import pytest

from memd.rpc.methods import get
from memd_client.errors import PathRefusedError
from memd_client.messages import GetParams
from tests.support.agents import BlockingRegistry
from tests.unit.rpc.methods.calling import call_of


def test_the_agent_meant_reads(memory: BlockingRegistry) -> None:
    call = call_of(memory.registry)
    reply = memory.run(get.handle, call, GetParams(path="MEMORY.md", agent="other"))
    assert (reply.agent, reply.text.split("\n")[0]) == ("other", "# Memory of other")
    with pytest.raises(PathRefusedError):
        memory.run(get.handle, call, GetParams(path="/etc/passwd"))
