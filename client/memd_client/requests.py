"""Functions that build the requests of the clients, without sending them.

The parameters are those of the method of the same name in `methods`, which documents them. A new request needs

1. its records and their entry in `messages.REQUESTS`,
2. a function here (that returns a `PreparedRequest`, or a `long_request` if it reports progress),
3. a method in `methods` or one of its bases, with the docstring of all three clients,
4. `scripts/generate`, which writes the method of the asyncio and trio clients.

A request that writes and must not be executed twice has `repeatable=False`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .events import SubscribeParams, SubscribeReply
from .messages import (
    ConversationReadParams,
    ConversationReadReply,
    ConversationSearchParams,
    ConversationSearchReply,
    EmbedParams,
    EmbedReply,
    FilesParams,
    FilesReply,
    GetParams,
    GetReply,
    HelloParams,
    HelloReply,
    IndexParams,
    IndexReply,
    MetricsParams,
    MetricsReply,
    ModelParams,
    ModelReply,
    OpenPageParams,
    OpenPageReply,
    Progress,
    RemoteParams,
    RemoteReply,
    ResetParams,
    ResetReply,
    SearchAgentsParams,
    SearchAgentsReply,
    SearchParams,
    SearchReply,
    SourcesParams,
    SourcesReply,
    StatusParams,
    StatusReply,
    VacuumParams,
    VacuumReply,
)
from .prepared_request import NO_DEADLINE, REPLY_MARGIN_S, PreparedRequest, long_request
from .session import CLIENT_VERSION

OnProgress = Callable[[Progress], None]

REMOTE_TIMEOUT_S = 900.0
"""Shortest timeout of a request that exchanges data with a remote."""


def hello() -> PreparedRequest[HelloReply]:
    """Return the request of `Client.hello`."""
    return PreparedRequest("hello", HelloParams(client="memd-client", version=CLIENT_VERSION), HelloReply)


def status(agent: str | None = None, *, deep: bool = False) -> PreparedRequest[StatusReply]:
    """Return the request of `Client.status`."""
    return PreparedRequest(
        "status", StatusParams(agent=agent, deep=deep), StatusReply, uses_client_agent=False
    )


def metrics() -> PreparedRequest[MetricsReply]:
    """Return the request of `Client.metrics`."""
    return PreparedRequest("metrics", MetricsParams(), MetricsReply)


def search(
    query: str,
    *,
    agent: str | None = None,
    max_results: int | None = None,
    min_score: float | None = None,
    sources: Sequence[str] | None = None,
    path: str | None = None,
    deadline_ms: int | None = None,
    explain: bool = False,
    lexical_only: bool = False,
    active_projects: Sequence[str] | None = None,
    exclude_session: str | None = None,
    max_chars: int | None = None,
    include_weak: bool = False,
    project: str | None = None,
    since: str | None = None,
) -> PreparedRequest[SearchReply]:
    """Return the request of `Client.search`."""
    params = SearchParams(
        query=query,
        agent=agent,
        max_results=max_results,
        min_score=min_score,
        sources=None if sources is None else list(sources),
        path=path,
        deadline_ms=deadline_ms,
        explain=explain,
        lexical_only=lexical_only,
        active_projects=None if active_projects is None else list(active_projects),
        exclude_session=exclude_session,
        max_chars=max_chars,
        include_weak=include_weak,
        project=project,
        since=since,
    )
    min_timeout_s = 0.0 if deadline_ms is None else deadline_ms / 1000 + REPLY_MARGIN_S
    return PreparedRequest("search", params, SearchReply, min_timeout_s=min_timeout_s)


def search_agents(
    query: str,
    *,
    agents: Sequence[str] | None = None,
    max_results: int | None = None,
    min_score: float | None = None,
    sources: Sequence[str] | None = None,
    path: str | None = None,
    deadline_ms: int | None = None,
    explain: bool = False,
    lexical_only: bool = False,
    active_projects: Sequence[str] | None = None,
    exclude_session: str | None = None,
    max_chars: int | None = None,
    include_weak: bool = False,
    project: str | None = None,
    since: str | None = None,
) -> PreparedRequest[SearchAgentsReply]:
    """Return the request of `Client.search_agents`."""
    params = SearchAgentsParams(
        query=query,
        agents=None if agents is None else list(agents),
        max_results=max_results,
        min_score=min_score,
        sources=None if sources is None else list(sources),
        path=path,
        deadline_ms=deadline_ms,
        explain=explain,
        lexical_only=lexical_only,
        active_projects=None if active_projects is None else list(active_projects),
        exclude_session=exclude_session,
        max_chars=max_chars,
        include_weak=include_weak,
        project=project,
        since=since,
    )
    min_timeout_s = 0.0 if deadline_ms is None else deadline_ms / 1000 + REPLY_MARGIN_S
    return PreparedRequest("search_agents", params, SearchAgentsReply, min_timeout_s=min_timeout_s)


def get(
    path: str,
    *,
    agent: str | None = None,
    from_line: int = 1,
    lines: int | None = None,
    include_conversations: bool = False,
) -> PreparedRequest[GetReply]:
    """Return the request of `Client.get`."""
    params = GetParams(
        path=path,
        agent=agent,
        from_line=from_line,
        lines=lines,
        include_conversations=include_conversations,
    )
    return PreparedRequest("get", params, GetReply)


def files(
    *,
    agent: str | None = None,
    sources: Sequence[str] | None = None,
    offset: int = 0,
    limit: int = 200,
) -> PreparedRequest[FilesReply]:
    """Return the request of `Client.files`."""
    wanted = None if sources is None else list(sources)
    return PreparedRequest(
        "files", FilesParams(agent=agent, sources=wanted, offset=offset, limit=limit), FilesReply
    )


def index(
    agent: str | None = None, *, force: bool = False, on_progress: OnProgress | None = None
) -> PreparedRequest[IndexReply]:
    """Return the request of `Client.index`."""
    return long_request("index", IndexParams(agent=agent, force=force), IndexReply, on_progress)


def reset(
    agent: str | None = None, *, delete_vectors: bool = False, on_progress: OnProgress | None = None
) -> PreparedRequest[ResetReply]:
    """Return the request of `Client.reset`."""
    return long_request(
        "reset", ResetParams(agent=agent, delete_vectors=delete_vectors), ResetReply, on_progress
    )


def vacuum(
    agent: str | None = None, *, on_progress: OnProgress | None = None
) -> PreparedRequest[VacuumReply]:
    """Return the request of `Client.vacuum`."""
    return long_request("vacuum", VacuumParams(agent=agent), VacuumReply, on_progress)


def embed(
    texts: Sequence[str], *, agent: str | None = None, kind: str = "document", keep: bool = False
) -> PreparedRequest[EmbedReply]:
    """Return the request of `Client.embed`."""
    return PreparedRequest(
        "embed", EmbedParams(texts=list(texts), agent=agent, kind=kind, keep=keep), EmbedReply
    )


def model(
    ref: str = "",
    *,
    action: str = "pull",
    force: bool = False,
    on_progress: OnProgress | None = None,
) -> PreparedRequest[ModelReply]:
    """Return the request of `Client.model`."""
    return long_request("model", ModelParams(ref=ref, action=action, force=force), ModelReply, on_progress)


def open_page(agent: str | None = None) -> PreparedRequest[OpenPageReply]:
    """Return the request of `Client.show`."""
    return PreparedRequest("open_page", OpenPageParams(agent=agent), OpenPageReply, uses_client_agent=False)


def sources(
    action: str = "list", name: str = "", *, session: str = "", agent: str | None = None
) -> PreparedRequest[SourcesReply]:
    """Return the request of `Client.sources`."""
    params = SourcesParams(action=action, name=name, session=session, agent=agent)
    wait_s = REMOTE_TIMEOUT_S if action == "forget" else 0.0
    return PreparedRequest("sources", params, SourcesReply, uses_client_agent=False, min_timeout_s=wait_s)


def remote(
    action: str = "status",
    *,
    agent: str | None = None,
    url: str = "",
    path: str = "",
    paths: Sequence[str] = (),
    take_over: bool = False,
    missing: str = "",
    confirmed: bool = False,
) -> PreparedRequest[RemoteReply]:
    """Return the request of `Client.remote`."""
    params = RemoteParams(
        action=action,
        agent=agent,
        url=url,
        path=path,
        paths=list(paths),
        take_over=take_over,
        missing=missing,
        confirmed=confirmed,
    )
    wait_s = 0.0 if action == "status" else REMOTE_TIMEOUT_S
    return PreparedRequest("remote", params, RemoteReply, uses_client_agent=False, min_timeout_s=wait_s)


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


def subscribe(
    agent: str | None = None, kinds: Sequence[str] | None = None
) -> PreparedRequest[SubscribeReply]:
    """Return the request of `Client.subscribe`, which brings events until it is cancelled.

    It isn't repeated on a new connection: the caller would miss the events in between without noticing.
    """
    params = SubscribeParams(agent=agent, kinds=None if kinds is None else list(kinds))
    return PreparedRequest(
        "subscribe",
        params,
        SubscribeReply,
        min_timeout_s=NO_DEADLINE,
        uses_client_agent=False,
        repeatable=False,
    )
