"""flush_check: figures are checked, then judged."""

from __future__ import annotations

from memd.rpc.methods import flush_check
from memd_client.sessions import FlushCheckParams
from tests.support.agents import BlockingAgent
from tests.unit.rpc.methods.living import living_call


def test_the_reply_says_whether_and_why(host: BlockingAgent) -> None:
    params = FlushCheckParams("agent:main:main", total_tokens=190_000, context_window=200_000)
    reply = host.run(flush_check.handle, living_call(host.agent), params)

    assert (reply.agent, reply.run, reply.reason) == ("main", True, "tokens")
