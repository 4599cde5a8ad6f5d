"""Every request the clients can make: a function that takes its parameters and returns it unsent.

The signatures and docstrings here are those of the clients' methods; the three clients only send. A new request is

1. a function here (of `ask.Ask`, or `ask.long` where it makes progress),
2. one line in `methods.Methods`, for the blocking client,
3. one line in `async_methods.AsyncMethods`, for those of asyncio and trio.

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
    """Greet the daemon again and return who it is: the cheapest sign of life."""
    return Ask("hello", HelloParams(client="memd-client", version=CLIENT_VERSION), HelloReply)


def status(agent: str | None = None, *, deep: bool = False) -> Ask[StatusReply]:
    """Return the state of the daemon and of one agent, or of all where none is named.

    Args:
        agent: Only this agent. The client's own agent is not filled in here.
        deep: Also probe embeddings, vectors and keyword index.
    """
    return Ask("status", StatusParams(agent=agent, deep=deep), StatusReply, own_agent=False)


def metrics() -> Ask[MetricsReply]:
    """Return everything the daemon counts."""
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
    """Search an agent's memory; the parameters are those of `messages.SearchParams`."""
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
    """Search the memory of several agents, and return their hits in one list, best first, each with its `agent`.

    Args:
        query: What is searched for.
        agents: The agents to search; all whose memory is on if left out. The client's own agent is not filled in here.
        max_results: At most so many hits of all agents together.

    The other parameters are those of `messages.SearchParams`.
    """
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
    """Return lines of a memory file, to its end where `lines` is left out."""
    return Ask("get", GetParams(path=path, agent=agent, from_line=from_line, lines=lines), GetReply)


def files(
    *,
    agent: str | None = None,
    sources: Sequence[str] | None = None,
    offset: int = 0,
    limit: int = 200,
) -> Ask[FilesReply]:
    """List the files of an agent's memory, newest first; the parameters are those of `messages.FilesParams`."""
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
    """List entries of curated notes by their comments; the parameters are those of `CuratedEntriesParams`."""
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
    """Bring an agent's index up to date now; the client's agent, or all where it has none.

    Args:
        agent: The agent meant.
        force: Read, chunk and embed everything again.
        on_progress: Called with every progress, in the thread or task that waits.
    """
    return long("index", IndexParams(agent=agent, force=force), IndexReply, on_progress)


def reset(
    agent: str | None = None, *, vectors: bool = False, on_progress: OnProgress | None = None
) -> Ask[ResetReply]:
    """Drop an agent's index and build it anew from its files; the client's agent, or all where it has none.

    Args:
        agent: The agent meant.
        vectors: Drop its vectors too, so that every text is embedded again.
        on_progress: Called with every progress, in the thread or task that waits.
    """
    return long("reset", ResetParams(agent=agent, vectors=vectors), ResetReply, on_progress)


def vacuum(agent: str | None = None, *, on_progress: OnProgress | None = None) -> Ask[VacuumReply]:
    """Make an agent's index as small as it can be; the client's agent, or all where it has none.

    Args:
        agent: The agent meant.
        on_progress: Called with every progress, in the thread or task that waits.
    """
    return long("vacuum", VacuumParams(agent=agent), VacuumReply, on_progress)


def embed(
    texts: Sequence[str], *, agent: str | None = None, kind: str = "document", keep: bool = False
) -> Ask[EmbedReply]:
    """Return the vectors of texts by the warm model; the parameters are those of `EmbedParams`."""
    return Ask("embed", EmbedParams(texts=list(texts), agent=agent, kind=kind, keep=keep), EmbedReply)


def model(
    ref: str = "",
    *,
    action: str = "pull",
    force: bool = False,
    on_progress: OnProgress | None = None,
) -> Ask[ModelReply]:
    """Make a model ready on disk, remove one, or list all.

    Args:
        ref: `minilm`, a path, or an `hf:` or `https:` reference; none for `list`.
        action: `pull`, `list` or `remove`.
        force: Remove it even where an agent's settings name it.
        on_progress: Called with every progress, in the thread or task that waits.
    """
    return long("model", ModelParams(ref=ref, action=action, force=force), ModelReply, on_progress)


def show(agent: str | None = None) -> Ask[ShowReply]:
    """Open the page that shows what agents remember, and return its address, which works once.

    Args:
        agent: Only this agent. The client's own agent is not filled in here.
    """
    return Ask("show", ShowParams(agent=agent), ShowReply, own_agent=False)


def subscribe(agent: str | None = None, kinds: Sequence[str] | None = None) -> Ask[SubscribeReply]:
    """Be told of events until it is cancelled. For the clients' `events`, which knows what to do with them.

    It isn't repeated on a new connection: what happened meanwhile would be missing, and nobody would know.
    """
    params = SubscribeParams(agent=agent, kinds=None if kinds is None else list(kinds))
    return Ask("subscribe", params, SubscribeReply, least_s=ENDLESS, own_agent=False, repeatable=False)
