"""flush_done: the cycle is recorded."""

from __future__ import annotations

from pathlib import Path

from memd.rpc.methods import flush_done
from memd_client.sessions import FlushDoneParams
from tests.unit.lifecycle.scripted_host import ScriptedHost
from tests.unit.rpc.methods.calling import run
from tests.unit.rpc.methods.living import living_call


def test_the_reply_names_the_cycle(tmp_path: Path) -> None:
    host = ScriptedHost(tmp_path)

    reply = run(flush_done.handle(living_call(host), FlushDoneParams("k", compaction_count=3)))

    assert (reply.agent, reply.syncing, reply.compaction_count) == ("main", True, 3)
    assert host.syncs == 1
