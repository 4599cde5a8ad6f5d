"""compaction_done: what a flush wrote is brought in, and the next cycle begins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memd.rpc.methods import compaction_done
from memd_client.errors import AgentUnknownError, BadParamsError
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


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"compaction_count": -1}, "compaction_count"),
    ],
)
def test_what_cant_be_is_named(tmp_path: Path, params: dict[str, Any], field: str) -> None:
    call = living_call(ScriptedHost(tmp_path))
    with pytest.raises(BadParamsError, match=f"`{field}`"):
        run(compaction_done.handle(call, CompactionDoneParams(**params)))


def test_an_unknown_agent_is_named(tmp_path: Path) -> None:
    call = living_call(ScriptedHost(tmp_path))
    with pytest.raises(AgentUnknownError):
        run(compaction_done.handle(call, CompactionDoneParams(agent="nobody")))
