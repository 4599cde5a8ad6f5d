"""Records of searches. Times are milliseconds; line numbers start at 1 and ranges are inclusive."""

from __future__ import annotations

from memd_client.problems import Degradation, EmptyResult, Fallback, Problem
from memd_client.record import Any, record
from memd_client.reports import FillProgress
from memd_client.sources import SessionInfo


@record
class SearchParams:
    """A query to one agent's memory.

    Attributes:
        query: Any text with at least one word, else `query_empty`; keyword search uses the first 2,000 characters. FTS5
            syntax has no meaning.
        agent: The agent's id; None: the default agent.
        max_results: 1 to 1,000; None: the agent's `query.maxResults`, or 60 with `max_chars`.
        min_score: Hits with a lower score are excluded; None: see relevance; 0 or less: no relevance check.
        sources: Hits of these sources only: `memory`, `sessions`, or names of sources.
        path: Hits whose path starts with it only.
        deadline_ms: Limit for the whole request, in ms, at least 1; what is not found by then is missing, and 200 ms
            later the error is `deadline_exceeded`.
        explain: Add `explain` to each hit and `timings` to the reply.
        lexical_only: Keyword search only: no text is embedded, `mode` is `keyword`, and the reply is not `degraded` for
            it.
        active_projects: Keys of the active projects; see comments in notes.
        exclude_session: Key or id of the session that searches: its conversation since the last reset is excluded. A
            key without a transcript excludes nothing.
        max_chars: Most characters of all snippets together, 1 to 100,000; see characters instead of a number.
        include_weak: Keep hits whose `relevance` is `weak`.
        project: Conversations held in this project only, by its name or path.
        since: What was said or written since then only: a day (`2026-11-02`) or a duration (`12h`, `7d`, `4w`, `6m`,
            `1y`).
    """

    query: str
    agent: str | None = None
    max_results: int | None = None
    min_score: float | None = None
    sources: list[str] | None = None
    path: str | None = None
    deadline_ms: int | None = None
    explain: bool = False
    lexical_only: bool = False
    active_projects: list[str] | None = None
    exclude_session: str | None = None
    max_chars: int | None = None
    include_weak: bool = False
    project: str | None = None
    since: str | None = None


@record
class Supersession:
    """A later statement about the same subject with another value.

    Attributes:
        path: The file of the later statement.
        start_line: Its first line.
        end_line: Its last line.
        citation: Its place as `path#L3-L9`.
        date: Its date, YYYY-MM-DD.
        outdated_date: The date of the hit's own statement, YYYY-MM-DD.
    """

    path: str
    start_line: int
    end_line: int
    citation: str
    date: str
    outdated_date: str

    def __str__(self) -> str:
        return f"{self.citation} ({self.date})"


@record
class Hit:
    """One search result; `snippet` is an exact slice of a file around the match.

    In a transcript (`source` is `sessions`) the lines are those of the transcript.

    Attributes:
        path: Path relative to the workspace, as in a hit.
        start_line: First line.
        end_line: Last line.
        score: 0 to 1; never higher than the score of the hit before it.
        vector_score: Cosine; None: not found by vector search.
        text_score: Negated BM25, or its form from 0 to 1 with `fusion: "weighted"`; None: not found by keyword search.
        snippet: An exact slice of the file at these lines without comments, at most 695 characters.
        source: `memory` or `sessions`.
        citation: The place as `path#L3-L9`.
        copies: How many places of the memory searched have this text or a near duplicate, this one included.
        explain: With `explain`, why it has this score.
        annotations: None, or `importance`, `triggers` and `projects` of its entry.
        agent: In a reply to `search_agents`, the agent whose memory it is in; else None.
        relevance: `strong`, or `weak` if it is hardly related to the query.
        superseded_by: None, or the later statement that makes this one outdated.
        session: None, or the conversation of another program that it is from.
    """

    path: str
    start_line: int
    end_line: int
    score: float
    vector_score: float | None
    text_score: float | None
    snippet: str
    source: str
    citation: str
    copies: int = 1
    explain: dict[str, Any] | None = None
    annotations: dict[str, Any] | None = None
    agent: str | None = None
    relevance: str = "strong"
    superseded_by: Supersession | None = None
    session: SessionInfo | None = None


@record
class PendingChanges:
    """Changes that are not in the reply yet.

    Attributes:
        files: Changed files to read.
        chunks: Chunks to embed.
        oldest_ms: How long the oldest change has waited.
    """

    files: int = 0
    chunks: int = 0
    oldest_ms: int = 0


@record
class SearchReply:
    """Hits, best first, and how they were found.

    Attributes:
        agent: The agent searched.
        hits: Hits, best first.
        mode: `hybrid`, `keyword` or `vector`.
        degraded: None, or why the reply is incomplete, for example because embedding failed.
        abstained: There are no hits: see relevance.
        took_ms: Duration in ms.
        provider: Provider of the vectors compared.
        model: Model of the vectors compared.
        generation: Grows with every published change of the index.
        pending: Changes that this reply does not include yet.
        partial: The time limit was reached before changes that this search waited for were indexed.
        space: Vector space of the vectors compared: the earlier one while another is being filled.
        filling: None, or the vector space being filled.
        fallback: None, or the configured provider that the fallback replaces.
        timings: With `explain`, milliseconds by part.
        empty: None, or why there are no hits.
    """

    agent: str
    hits: list[Hit]
    mode: str
    degraded: Degradation | None
    abstained: bool
    took_ms: float
    provider: str
    model: str
    generation: int
    pending: PendingChanges
    partial: bool = False
    space: str = ""
    filling: FillProgress | None = None
    fallback: Fallback | None = None
    timings: dict[str, float] | None = None
    empty: EmptyResult | None = None


@record
class SearchAgentsParams:
    """A query to the memory of several agents: the named ones, or all whose memory is on.

    The other parameters are those of `SearchParams`.

    Attributes:
        query: As in `search`.
        agents: The agents to search; None: all whose memory is on.
        max_results: Hits of all agents together, 1 to 1,000; None: `query.maxResults` of the default agent, or 60 with
            `max_chars`.
        min_score: As in `search`, for each agent.
        sources: As in `search`.
        path: As in `search`.
        deadline_ms: Limit for the searches of all agents together, in ms; None: 20 s for each agent.
        explain: As in `search`.
        lexical_only: As in `search`.
        active_projects: Keys of the active projects; see comments in notes.
        exclude_session: As in `search`.
        max_chars: Most characters of the snippets of all agents together, 1 to 100,000; else as in `search`.
        include_weak: As in `search`.
        project: As in `search`.
        since: As in `search`.
    """

    query: str
    agents: list[str] | None = None
    max_results: int | None = None
    min_score: float | None = None
    sources: list[str] | None = None
    path: str | None = None
    deadline_ms: int | None = None
    explain: bool = False
    lexical_only: bool = False
    active_projects: list[str] | None = None
    exclude_session: str | None = None
    max_chars: int | None = None
    include_weak: bool = False
    project: str | None = None
    since: str | None = None


@record
class SearchedAgent:
    """How one agent's memory was searched, as in `SearchReply`; with `error`, why it was not (`mode` is empty).

    Attributes:
        agent: The agent's id.
        mode: As in the reply to `search`; empty with `error`.
        degraded: As in the reply to `search`.
        abstained: As in the reply to `search`.
        took_ms: Duration in ms.
        pending: As in the reply to `search`.
        partial: As in the reply to `search`.
        fallback: As in the reply to `search`.
        provider: Name of the embedding provider.
        model: Name of the model.
        empty: As in the reply to `search`.
        error: None, or why this agent's part failed.
    """

    agent: str
    mode: str = ""
    degraded: Degradation | None = None
    abstained: bool = False
    took_ms: float = 0.0
    pending: PendingChanges | None = None
    partial: bool = False
    fallback: Fallback | None = None
    provider: str = "none"
    model: str = ""
    empty: EmptyResult | None = None
    error: Problem | None = None


@record
class SearchAgentsReply:
    """Hits of several agents, best first, each with its agent; and one row per agent searched.

    Attributes:
        hits: Hits of all agents, best first.
        agents: A row per agent searched.
        took_ms: Duration in ms.
    """

    hits: list[Hit]
    agents: list[SearchedAgent]
    took_ms: float
