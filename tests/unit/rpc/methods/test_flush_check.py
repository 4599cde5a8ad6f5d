"""flush_check: figures are checked, then judged."""

from __future__ import annotations

from pathlib import Path

from memd.rpc.methods import flush_check
from memd_client.sessions import FlushCheckParams
from tests.unit.lifecycle.scripted_host import ScriptedHost
from tests.unit.rpc.methods.calling import run
from tests.unit.rpc.methods.living import living_call


def test_the_reply_says_whether_and_why(tmp_path: Path) -> None:
    host = ScriptedHost(tmp_path)
    host.workspace.mkdir()

    params = FlushCheckParams("agent:main:main", total_tokens=190_000, context_window=200_000)
    reply = run(flush_check.handle(living_call(host), params))

    assert (reply.agent, reply.run, reply.reason) == ("main", True, "tokens")
