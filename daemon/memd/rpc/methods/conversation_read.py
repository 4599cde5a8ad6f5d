"""conversation_read: messages of a session, around a place or page by page."""

from __future__ import annotations

from functools import partial

from memd.agents.conversations import MAX_MESSAGES, read_conversation
from memd.rpc.call import Call
from memd.rpc.params import wrong
from memd_client.messages import ConversationReadParams, ConversationReadReply


async def handle(call: Call, params: ConversationReadParams) -> ConversationReadReply:
    """Return messages in order."""
    if not 1 <= params.messages <= MAX_MESSAGES:
        raise wrong("conversation_read", "messages", f"must be from 1 to {MAX_MESSAGES}")
    for name, value in (("line", params.line), ("first", params.first)):
        if value is not None and value < 1:
            raise wrong("conversation_read", name, "must be at least 1")
    return await call.registry.agent(params.agent).ask(partial(read_conversation, params))
