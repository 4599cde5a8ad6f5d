"""compaction_done: what a flush wrote is brought in, and the next cycle begins."""

from __future__ import annotations

from pathlib import Path

from memd.rpc.methods import compaction_done
from memd_client.sessions import CompactionDoneParams
from tests.unit.lifecycle.scripted_host import ScriptedHost
from tests.unit.rpc.methods.calling import run
from tests.unit.rpc.methods.living import living_call


def test_the_agent_meant_syncs_and_counts(tmp_path: Path) -> None:
    host = ScriptedHost(tmp_path, agent_id="other")

    params = CompactionDoneParams("k", agent="other")
    reply = run(compaction_done.handle(living_call(host), params))

    assert (reply.agent, reply.syncing, reply.compaction_count) == ("other", True, 1)
    assert host.syncs == 1
