"""tools: definitions of the memory tools, for a model's interface."""

from __future__ import annotations

from memd.lifecycle.tool_definitions import SHAPES, TOOLS
from memd.rpc.call import Call
from memd_client.errors import BadParamsError
from memd_client.tooling import ToolsParams, ToolsReply


async def handle(call: Call, params: ToolsParams) -> ToolsReply:
    """Return the tools an agent's model may be given; none where its memory is turned off.

    Raises:
        BadParamsError: The shape or a tool's name is unknown.
        AgentUnknownError: There is no such agent.
    """
    if params.shape not in SHAPES:
        raise BadParamsError(f"tools: `shape` must be one of {', '.join(SHAPES)}", data={"field": "shape"})
    if not set(params.include or ()) <= set(TOOLS):
        raise BadParamsError(f"tools: `include` may hold {', '.join(TOOLS)}", data={"field": "include"})
    return call.life(params.agent).tools.definitions(params)
