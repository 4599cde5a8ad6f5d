"""tools: definitions in the shape that is asked for."""

from __future__ import annotations

from memd.rpc.methods import tools
from memd_client.tooling import ToolsParams
from tests.support.agents import BlockingAgent
from tests.unit.rpc.methods.living import living_call


def test_the_reply_holds_the_tools_in_the_shape_asked_for(host: BlockingAgent) -> None:
    params = ToolsParams(shape="anthropic", include=["memory_get"])

    reply = host.run(tools.handle, living_call(host.agent), params)

    assert (reply.agent, reply.shape) == ("main", "anthropic")
    assert [tool["name"] for tool in reply.tools] == ["memory_get"]
    assert "input_schema" in reply.tools[0]
