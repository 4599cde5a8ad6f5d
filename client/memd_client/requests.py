"""Every request the clients can make: a function that takes its parameters and returns it unsent.

The parameters are those of the method of the same name in `methods`, which says what they mean. A new request is

1. a function here (of `ask.Ask`, or `ask.long` where it makes progress),
2. a method in `methods` or one of its bases, with the docstring of all three clients,
3. `python -m tests.support.async_methods`, which makes the method of the asyncio and trio clients.

Its records and their entry in `messages.REQUESTS` are the protocol's, and `wire` finds its way in them by itself. A
request that writes and must not be done twice says `repeatable=False`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .ask import ENDLESS, REPLY_S, Ask, long
from .events import SubscribeParams, SubscribeReply
from .messages import (
    CuratedEntriesParams,
    CuratedEntriesReply,
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
    Progress,
    ResetParams,
    ResetReply,
    SearchAgentsParams,
    SearchAgentsReply,
    SearchParams,
    SearchReply,
    ShowParams,
    ShowReply,
    StatusParams,
    StatusReply,
    VacuumParams,
    VacuumReply,
)
from .session import CLIENT_VERSION

OnProgress = Callable[[Progress], None]


def hello() -> Ask[HelloReply]:
    """Return what `Client.hello` sends."""
    return Ask("hello", HelloParams(client="memd-client", version=CLIENT_VERSION), HelloReply)


def status(agent: str | None = None, *, deep: bool = False) -> Ask[StatusReply]:
    """Return what `Client.status` sends."""
    return Ask("status", StatusParams(agent=agent, deep=deep), StatusReply, own_agent=False)


def metrics() -> Ask[MetricsReply]:
    """Return what `Client.metrics` sends."""
    return Ask("metrics", MetricsParams(), MetricsReply)


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
) -> Ask[SearchReply]:
    """Return what `Client.search` sends."""
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
    )
    least_s = 0.0 if deadline_ms is None else deadline_ms / 1000 + REPLY_S
    return Ask("search", params, SearchReply, least_s=least_s)


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
) -> Ask[SearchAgentsReply]:
    """Return what `Client.search_agents` sends."""
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
    )
    least_s = 0.0 if deadline_ms is None else deadline_ms / 1000 + REPLY_S
    return Ask("search_agents", params, SearchAgentsReply, least_s=least_s)


def get(
    path: str, *, agent: str | None = None, from_line: int = 1, lines: int | None = None
) -> Ask[GetReply]:
    """Return what `Client.get` sends."""
    return Ask("get", GetParams(path=path, agent=agent, from_line=from_line, lines=lines), GetReply)


def files(
    *,
    agent: str | None = None,
    sources: Sequence[str] | None = None,
    offset: int = 0,
    limit: int = 200,
) -> Ask[FilesReply]:
    """Return what `Client.files` sends."""
    wanted = None if sources is None else list(sources)
    return Ask("files", FilesParams(agent=agent, sources=wanted, offset=offset, limit=limit), FilesReply)


def curated_entries(
    kind: str,
    *,
    agent: str | None = None,
    active_projects: Sequence[str] | None = None,
    limit: int | None = None,
    paths: Sequence[str] | None = None,
) -> Ask[CuratedEntriesReply]:
    """Return what `Client.curated_entries` sends."""
    params = CuratedEntriesParams(
        kind=kind,
        agent=agent,
        active_projects=None if active_projects is None else list(active_projects),
        limit=limit,
        paths=None if paths is None else list(paths),
    )
    return Ask("curated_entries", params, CuratedEntriesReply)


def index(
    agent: str | None = None, *, force: bool = False, on_progress: OnProgress | None = None
) -> Ask[IndexReply]:
    """Return what `Client.index` sends."""
    return long("index", IndexParams(agent=agent, force=force), IndexReply, on_progress)


def reset(
    agent: str | None = None, *, vectors: bool = False, on_progress: OnProgress | None = None
) -> Ask[ResetReply]:
    """Return what `Client.reset` sends."""
    return long("reset", ResetParams(agent=agent, vectors=vectors), ResetReply, on_progress)


def vacuum(agent: str | None = None, *, on_progress: OnProgress | None = None) -> Ask[VacuumReply]:
    """Return what `Client.vacuum` sends."""
    return long("vacuum", VacuumParams(agent=agent), VacuumReply, on_progress)


def embed(
    texts: Sequence[str], *, agent: str | None = None, kind: str = "document", keep: bool = False
) -> Ask[EmbedReply]:
    """Return what `Client.embed` sends."""
    return Ask("embed", EmbedParams(texts=list(texts), agent=agent, kind=kind, keep=keep), EmbedReply)


def model(
    ref: str = "",
    *,
    action: str = "pull",
    force: bool = False,
    on_progress: OnProgress | None = None,
) -> Ask[ModelReply]:
    """Return what `Client.model` sends."""
    return long("model", ModelParams(ref=ref, action=action, force=force), ModelReply, on_progress)


def show(agent: str | None = None) -> Ask[ShowReply]:
    """Return what `Client.show` sends."""
    return Ask("show", ShowParams(agent=agent), ShowReply, own_agent=False)


def subscribe(agent: str | None = None, kinds: Sequence[str] | None = None) -> Ask[SubscribeReply]:
    """Return what `Client.subscribe` sends: it takes the events until the request is cancelled.

    It isn't repeated on a new connection: what happened meanwhile would be missing, and nobody would know.
    """
    params = SubscribeParams(agent=agent, kinds=None if kinds is None else list(kinds))
    return Ask("subscribe", params, SubscribeReply, least_s=ENDLESS, own_agent=False, repeatable=False)
