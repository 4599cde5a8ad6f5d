"""open_page: open the web page that shows the memory of agents."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.messages import OpenPageParams, OpenPageReply


async def handle(call: Call, params: OpenPageParams) -> OpenPageReply:
    """Return the address of the page."""
    agent = None if params.agent is None else call.registry.agent(params.agent).agent_id
    return await call.daemon.open_page(agent)
