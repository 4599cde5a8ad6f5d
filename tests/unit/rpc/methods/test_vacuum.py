"""vacuum: an agent that doesn't exist, or isn't open, says so; the rest is tests/daemon/test_upkeep.py."""

from __future__ import annotations

import pytest

from memd.rpc.methods import vacuum
from memd_client.errors import AgentReloadingError, AgentUnknownError
from memd_client.messages import VacuumParams
from tests.unit.rpc.methods.calling import call_of, run


def test_an_agent_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(AgentUnknownError):
        run(vacuum.handle(call_of(), VacuumParams(agent="nobody")))


def test_an_agent_that_is_not_open_is_the_replys_error_or_its_rows() -> None:
    with pytest.raises(AgentReloadingError):
        run(vacuum.handle(call_of(), VacuumParams(agent="main")))
    rows = run(vacuum.handle(call_of(), VacuumParams())).agents
    assert [row.error.code for row in rows if row.error is not None] == ["agent_reloading"] * 2
