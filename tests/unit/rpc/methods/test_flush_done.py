"""flush_done: the cycle is recorded."""

from __future__ import annotations

from memd.rpc.methods import flush_done
from memd_client.sessions import FlushDoneParams
from tests.support.agents import BlockingAgent
from tests.unit.rpc.methods.living import living_call


def test_the_reply_names_the_cycle(host: BlockingAgent) -> None:
    params = FlushDoneParams("k", compaction_count=3)

    reply = host.run(flush_done.handle, living_call(host.agent), params)

    assert (reply.agent, reply.syncing, reply.compaction_count) == ("main", True, 3)
    assert host.syncs == 1
