"""show: the page that shows what agents remember is opened."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.messages import ShowParams, ShowReply


async def handle(call: Call, params: ShowParams) -> ShowReply:
    """Return where the page is."""
    agent = None if params.agent is None else call.registry.agent(params.agent).agent_id
    return await call.daemon.show(agent)
