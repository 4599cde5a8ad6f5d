"""Functions that build the requests about sources and conversations; see `requests`."""

from __future__ import annotations

from collections.abc import Sequence

from .prepared_request import REPLY_MARGIN_S, PreparedRequest
from .sources import (
    ConversationReadParams,
    ConversationReadReply,
    ConversationSearchParams,
    ConversationSearchReply,
    SourcesParams,
    SourcesReply,
)


def sources(
    action: str = "list", name: str = "", *, session: str = "", agent: str | None = None
) -> PreparedRequest[SourcesReply]:
    """Return the request of `Client.sources`."""
    params = SourcesParams(action=action, name=name, session=session, agent=agent)
    return PreparedRequest("sources", params, SourcesReply, min_timeout_s=60.0, uses_client_agent=False)


def conversation_search(
    query: str,
    *,
    agent: str | None = None,
    max_results: int | None = None,
    sources: Sequence[str] | None = None,
    project: str | None = None,
    since: str | None = None,
    exclude_session: str | None = None,
    deadline_ms: int | None = None,
) -> PreparedRequest[ConversationSearchReply]:
    """Return the request of `Client.conversation_search`."""
    params = ConversationSearchParams(
        query=query,
        agent=agent,
        max_results=max_results,
        sources=None if sources is None else list(sources),
        project=project,
        since=since,
        exclude_session=exclude_session,
        deadline_ms=deadline_ms,
    )
    wait_s = 0.0 if deadline_ms is None else deadline_ms / 1000 + REPLY_MARGIN_S
    return PreparedRequest("conversation_search", params, ConversationSearchReply, min_timeout_s=wait_s)


def conversation_read(
    session: str,
    *,
    agent: str | None = None,
    line: int | None = None,
    first: int | None = None,
    messages: int = 20,
) -> PreparedRequest[ConversationReadReply]:
    """Return the request of `Client.conversation_read`."""
    params = ConversationReadParams(session=session, agent=agent, line=line, first=first, messages=messages)
    return PreparedRequest("conversation_read", params, ConversationReadReply)
