"""flush_done: the cycle is recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memd.rpc.methods import flush_done
from memd_client.errors import BadParamsError
from memd_client.sessions import FlushDoneParams
from tests.unit.lifecycle.scripted_host import ScriptedHost
from tests.unit.rpc.methods.calling import run
from tests.unit.rpc.methods.living import living_call


def test_the_reply_names_the_cycle(tmp_path: Path) -> None:
    host = ScriptedHost(tmp_path)

    reply = run(flush_done.handle(living_call(host), FlushDoneParams("k", compaction_count=3)))

    assert (reply.agent, reply.syncing, reply.compaction_count) == ("main", True, 3)
    assert host.syncs == 1


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"session_key": ""}, "session_key"),
        ({"compaction_count": -1}, "compaction_count"),
    ],
)
def test_what_cant_be_is_named(tmp_path: Path, params: dict[str, Any], field: str) -> None:
    call = living_call(ScriptedHost(tmp_path))
    with pytest.raises(BadParamsError, match=f"`{field}`"):
        run(flush_done.handle(call, FlushDoneParams(**{"session_key": "k", **params})))
