"""tools: definitions of the memory tools, for a model's interface."""

from __future__ import annotations

from memd.lifecycle.tools.definitions import TOOLS
from memd.rpc.call import Call
from memd.rpc.params import wrong
from memd_client.tooling import ToolsParams, ToolsReply


async def handle(call: Call, params: ToolsParams) -> ToolsReply:
    """Return the tools for an agent's model; none if its memory is turned off."""
    if not set(params.include or ()) <= set(TOOLS):
        raise wrong("tools", "include", f"may hold {', '.join(TOOLS)}")
    return call.lifecycle(params.agent).tools.definitions(params)
