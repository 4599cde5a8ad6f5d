"""conversation_search: sessions with the lines that match a query."""

from __future__ import annotations

from functools import partial

from memd.agents.conversations import MAX_SESSIONS, search_conversations
from memd.rpc.call import Call
from memd.rpc.params import check_sources, check_time, wrong
from memd_client.messages import ConversationSearchParams, ConversationSearchReply


async def handle(call: Call, params: ConversationSearchParams) -> ConversationSearchReply:
    """Return sessions, best first."""
    if params.max_results is not None and not 1 <= params.max_results <= MAX_SESSIONS:
        raise wrong("conversation_search", "max_results", f"must be from 1 to {MAX_SESSIONS}")
    if params.deadline_ms is not None and params.deadline_ms < 1:
        raise wrong("conversation_search", "deadline_ms", "must be at least 1")
    check_sources("conversation_search", params.sources)
    check_time("conversation_search", params.since)
    return await call.registry.agent(params.agent).ask(partial(search_conversations, params))
