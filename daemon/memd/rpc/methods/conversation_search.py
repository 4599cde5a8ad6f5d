"""conversation_search: sessions with the lines that match a query."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.messages import ConversationSearchParams, ConversationSearchReply


async def handle(call: Call, params: ConversationSearchParams) -> ConversationSearchReply:
    """Return sessions, best first."""
    return await call.registry.agent(params.agent).search_conversations(params)
