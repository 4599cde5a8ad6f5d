"""show: open the web page that shows the memory of agents."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.messages import ShowParams, ShowReply


async def handle(call: Call, params: ShowParams) -> ShowReply:
    """Return the address of the page."""
    agent = None if params.agent is None else call.registry.agent(params.agent).agent_id
    return await call.daemon.show(agent)
