"""get: lines of the agent's files, checked first."""

from __future__ import annotations

import pytest

from memd.rpc.methods import get
from memd_client.errors import PathRefusedError
from memd_client.messages import GetParams
from tests.unit.rpc.methods.calling import call_of, run


def test_the_agent_meant_reads() -> None:
    assert run(get.handle(call_of(), GetParams(path="MEMORY.md", agent="other"))).agent == "other"
    with pytest.raises(PathRefusedError):
        run(get.handle(call_of(), GetParams(path="/etc/passwd")))
