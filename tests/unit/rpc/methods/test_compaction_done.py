"""compaction_done: what a flush wrote is brought in, and the next cycle begins."""

from __future__ import annotations

from pathlib import Path

from memd.rpc.methods import compaction_done
from memd_client.sessions import CompactionDoneParams
from tests.support.agents import BlockingAgent, config_in
from tests.unit.rpc.methods.living import living_call


def test_the_agent_meant_syncs_and_counts(tmp_path: Path) -> None:
    params = CompactionDoneParams("k", agent="other")

    with BlockingAgent(tmp_path, config_in(tmp_path, "other")) as host:
        reply = host.run(compaction_done.handle, living_call(host.agent), params)

        assert (reply.agent, reply.syncing, reply.compaction_count) == ("other", True, 1)
        assert host.syncs == 1
