"""Records of searches. Times are milliseconds; line numbers start at 1 and ranges are inclusive."""

from __future__ import annotations

from typing import Any

from msgspec import field

from memd_client.limits import (
    AgentId,
    AgentIds,
    IndexPath,
    Key,
    Kinds,
    MaxChars,
    MaxResults,
    Milliseconds,
    Name,
    Origins,
    Path,
    Projects,
    Query,
    Since,
    SourceNames,
)
from memd_client.problems import Degradation, EmptyResult, Fallback, Problem
from memd_client.reports import FillProgress
from memd_client.schema import Record
from memd_client.sources import SessionInfo


class SearchParams(Record, frozen=True):
    """Search an agent's memory by keywords and vectors, as the files are now.

    Attributes:
        query: Any text with at least one word, at most 8,000 characters; keyword search uses the first 2,000. Search
            syntax has no meaning.
        agent: The agent's id; None: the default agent.
        max_results: The most hits, 1 to 1,000; None: the agent's `query.maxResults`, or 60 with `max_chars`.
        min_score: Leave out hits with a lower score (0 to 1); None: see relevance; 0 or less: no relevance check.
        sources: Only hits of these sources: `memory` (notes), `sessions` (transcripts), or names of sources; None: all.
        path: Only hits whose path starts with it.
        deadline_ms: Limits the whole request, in milliseconds; what is not found by then is missing (`partial`), and
            200 ms later the error is `deadline_exceeded`.
        explain: Add `explain` to each hit and `timings` to the reply.
        lexical_only: Keyword search only: no text is embedded, `mode` is `keyword`, and the reply is not `degraded` for
            it.
        active_projects: Keys of the current projects: their entries score higher, those of other projects lower; see
            comments in notes.
        exclude_session: Key or id of the session that searches: its conversation since the last reset is excluded. A
            key without a transcript excludes nothing.
        max_chars: The most characters of all hits as `memctl search` shows them, 1 to 100,000; see characters instead
            of a number.
        include_weak: Keep hits that are hardly related to the query; their `relevance` is `weak`.
        project: Only conversations held in this project, by its name or path.
        since: Only what was said or written since a day (`2026-11-02`) or within a duration (`12h`, `7d`, `4w`, `6m`,
            `1y`).
        limit_weak: Leave out weak hits beyond the first two, or the first three if no hit is strong; not with
            `include_weak` or a `min_score` of 0 or less.
        caller: The program that asks, for the log of recalls; empty: the client's name in `hello`.
        until: Only what was said or written up to the end of a day (`2026-11-30`), or before a duration (`7d`).
        kinds: Only `notes`, `conversations`, or both; or `work` alone: commands that agents ran and files that they
            read or changed, by keywords; None: notes and conversations.
        origins: Only text of these origins: `user`, `agent`, `program`, `outside`; None: all.

    Returns:
        `hits`, best first, each with `path`, `start_line` and `end_line` (from 1, inclusive), `score` (0 to 1),
        `snippet` (at most 695 characters), `citation`, `relevance` (`strong` or `weak`) and `superseded_by` (a
        later statement with another value). `mode` is `hybrid`, `keyword` or `vector`; `degraded` is the reason
        for an incomplete reply; `abstained` is true if there are no hits.

    Raises:
        QueryEmptyError: The query is blank.
        AgentUnknownError: No agent has that id.
        MemoryDisabledError: The agent's settings turn memory off.
        BadParamsError: A parameter has the wrong type or is out of its range.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
    """

    query: Query
    agent: AgentId | None = None
    max_results: MaxResults | None = None
    min_score: float | None = None
    sources: SourceNames | None = None
    path: IndexPath | None = None
    deadline_ms: Milliseconds | None = None
    explain: bool = False
    lexical_only: bool = False
    active_projects: Projects | None = None
    exclude_session: Key | None = None
    max_chars: MaxChars | None = None
    include_weak: bool = False
    project: Path | None = None
    since: Since | None = None
    limit_weak: bool = False
    caller: Name = ""
    until: Since | None = None
    kinds: Kinds | None = None
    origins: Origins | None = None


class Supersession(Record, frozen=True):
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


class Currency(Record, frozen=True):
    """Whether something that a hit names still holds in its git repository.

    Attributes:
        verdict: `missing`: the name is gone; `changed`: it changed since the day of the hit; `holds`: the lines that
            the hit quotes are unchanged.
        text: The verdict in words, such as `src/queue.py changed in 3 commits since, last on 2026-11-20`.
        name: What the hit names: a file relative to its repository, a function, a target, a commit or a branch.
        commit: The last commit that changed or removed it, or empty.
        since: The day of that commit, YYYY-MM-DD, or empty.
    """

    verdict: str
    text: str
    name: str
    commit: str = ""
    since: str = ""


class Hit(Record, frozen=True):
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
        spans: Matched terms in `snippet` as [start, end): characters from 0, ascending, at most 64.
        date: Its day, YYYY-MM-DD: of the message, or by the note's name, the heading above it or its frontmatter, or
            else the day of the file's last change.
        heading: The headings above it, such as `Deploy > Rollback`; empty if it starts with one.
        is_cut_above: It starts inside a sentence or a list item.
        is_cut_below: It ends inside a sentence or a list item.
        currency: None, or whether something that it names still holds.
        origin: Whose words it is: `user`, `agent` (also if the author is unknown), `program` (output of tools, work) or
            `outside` (fetched pages, mail, text of other people); of several lines the least trusted.
        origin_reason: Why it is `outside`; empty if it is not.
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
    spans: list[list[int]] = field(default_factory=list)
    date: str = ""
    heading: str = ""
    is_cut_above: bool = False
    is_cut_below: bool = False
    currency: Currency | None = None
    origin: str = "agent"
    origin_reason: str = ""


class PendingChanges(Record, frozen=True):
    """Changes that are not in the reply yet.

    Attributes:
        files: Changed files to read.
        chunks: Chunks to embed.
        oldest_ms: How long the oldest change has waited.
    """

    files: int = 0
    chunks: int = 0
    oldest_ms: int = 0


class SearchReply(Record, frozen=True):
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


class SearchAgentsParams(Record, frozen=True):
    """Search the memory of several agents and return their hits in one list.

    Attributes:
        query: As in `search`.
        agents: The agents to search; None: all whose memory is on.
        max_results: The most hits of all agents together, 1 to 1,000; None: `query.maxResults` of the default agent, or
            60 with `max_chars`.
        min_score: As in `search`, for each agent.
        sources: As in `search`.
        path: As in `search`.
        deadline_ms: Limit for the searches of all agents together, in ms; None: 20 s for each agent.
        explain: As in `search`.
        lexical_only: As in `search`.
        active_projects: As in `search`.
        exclude_session: As in `search`.
        max_chars: The most characters of the hits of all agents together, 1 to 100,000; else as in `search`.
        include_weak: As in `search`.
        project: As in `search`.
        since: As in `search`.
        limit_weak: As in `search`, for the hits of all agents together.
        caller: As in `search`.
        until: As in `search`.
        kinds: As in `search`.
        origins: As in `search`.

    Returns:
        `hits` as in `search`, best first, each with its `agent`; `agents`, a row for each: `mode`, `degraded`,
        `abstained`, `took_ms`, `empty`, `error` (why it was not searched); `took_ms`.

    Raises:
        QueryEmptyError: The query is blank.
        AgentUnknownError: No agent has one of those ids.
        BadParamsError: A parameter has the wrong type or is out of its range.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
    """

    query: Query
    agents: AgentIds | None = None
    max_results: MaxResults | None = None
    min_score: float | None = None
    sources: SourceNames | None = None
    path: IndexPath | None = None
    deadline_ms: Milliseconds | None = None
    explain: bool = False
    lexical_only: bool = False
    active_projects: Projects | None = None
    exclude_session: Key | None = None
    max_chars: MaxChars | None = None
    include_weak: bool = False
    project: Path | None = None
    since: Since | None = None
    limit_weak: bool = False
    caller: Name = ""
    until: Since | None = None
    kinds: Kinds | None = None
    origins: Origins | None = None


class SearchedAgent(Record, frozen=True):
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


class SearchAgentsReply(Record, frozen=True):
    """Hits of several agents, best first, each with its agent; and one row per agent searched.

    Attributes:
        hits: Hits of all agents, best first.
        agents: A row per agent searched.
        took_ms: Duration in ms.
    """

    hits: list[Hit]
    agents: list[SearchedAgent]
    took_ms: float
