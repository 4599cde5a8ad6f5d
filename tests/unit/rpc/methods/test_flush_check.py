"""flush_check: figures are checked, then judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memd.rpc.methods import flush_check
from memd_client.errors import AgentUnknownError, BadParamsError
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


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"session_key": " "}, "session_key"),
        ({"total_tokens": -1}, "total_tokens"),
        ({"context_window": -1}, "context_window"),
        ({"next_input_tokens": -1}, "next_input_tokens"),
        ({"transcript_bytes": -1}, "transcript_bytes"),
        ({"compaction_count": -1}, "compaction_count"),
        ({"kind": "crowd"}, "kind"),
        ({"workspace_access": "rwx"}, "workspace_access"),
    ],
)
def test_what_cant_be_is_named(tmp_path: Path, params: dict[str, Any], field: str) -> None:
    call = living_call(ScriptedHost(tmp_path))
    with pytest.raises(BadParamsError, match=f"`{field}`") as caught:
        run(flush_check.handle(call, FlushCheckParams(**{"session_key": "k", **params})))
    assert caught.value.data == {"field": field}


def test_an_unknown_agent_is_named(tmp_path: Path) -> None:
    with pytest.raises(AgentUnknownError):
        run(flush_check.handle(living_call(ScriptedHost(tmp_path)), FlushCheckParams("k", agent="nobody")))
