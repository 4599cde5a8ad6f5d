"""compaction_done: what a flush wrote is brought in."""

from __future__ import annotations

import pytest

from memd.rpc.methods import compaction_done
from memd_client.errors import AgentUnknownError
from memd_client.messages import CompactionDoneParams
from tests.unit.rpc.methods.calling import call_of, run


def test_the_agent_meant_syncs() -> None:
    reply = run(compaction_done.handle(call_of(), CompactionDoneParams(agent="other")))
    assert (reply.agent, reply.syncing) == ("other", True)


def test_an_unknown_agent_is_named() -> None:
    with pytest.raises(AgentUnknownError):
        run(compaction_done.handle(call_of(), CompactionDoneParams(agent="nobody")))
