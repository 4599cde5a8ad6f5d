"""conversation_read: messages of a session, around a place or page by page."""

from __future__ import annotations

from functools import partial

from memd.agents.conversations import read_conversation
from memd.rpc.call import Call
from memd_client.messages import ConversationReadParams, ConversationReadReply


async def handle(call: Call, params: ConversationReadParams) -> ConversationReadReply:
    """Return messages in order."""
    return await call.registry.agent(params.agent).ask(partial(read_conversation, params))
