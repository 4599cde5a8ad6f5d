"""tools: definitions in the shape that is asked for."""

from __future__ import annotations

from pathlib import Path

from memd.rpc.methods import tools
from memd_client.tooling import ToolsParams
from tests.unit.lifecycle.scripted_host import ScriptedHost
from tests.unit.rpc.methods.calling import run
from tests.unit.rpc.methods.living import living_call


def test_the_reply_holds_the_tools_in_the_shape_asked_for(tmp_path: Path) -> None:
    call = living_call(ScriptedHost(tmp_path))

    reply = run(tools.handle(call, ToolsParams(shape="anthropic", include=["memory_get"])))

    assert (reply.agent, reply.shape) == ("main", "anthropic")
    assert [tool["name"] for tool in reply.tools] == ["memory_get"]
    assert "input_schema" in reply.tools[0]
