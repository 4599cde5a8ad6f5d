"""conversations: list the conversations of an agent, in pages."""

from __future__ import annotations

from functools import partial

from memd.agents.conversation_list import list_conversations
from memd.rpc.call import Call
from memd.system.clock import wall_clock_ms
from memd_client.messages import ConversationsParams, ConversationsReply


async def handle(call: Call, params: ConversationsParams) -> ConversationsReply:
    """Return conversations, newest first."""
    agent = call.registry.agent(params.agent)
    return await agent.read_index(
        partial(list_conversations, config=agent.config, params=params, now_ms=wall_clock_ms())
    )
