"""conversation_read: messages of a session, around a place or page by page."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.messages import ConversationReadParams, ConversationReadReply


async def handle(call: Call, params: ConversationReadParams) -> ConversationReadReply:
    """Return messages in order."""
    return await call.registry.agent(params.agent).read_conversation(params)
