"""The methods of the blocking client: one for each request.

`lifecycle_methods` has those about tools and sessions, `note_methods` those about notes and facts,
`maintenance_methods` those about the index, models and the page. `scripts/generate` writes the
methods of the asyncio and trio clients from these modules: run it after a change.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import requests
from .lifecycle_methods import LifecycleMethods
from .maintenance_methods import MaintenanceMethods
from .messages import (
    EmbedReply,
    FilesReply,
    GetReply,
    HelloReply,
    MetricsReply,
    SearchAgentsReply,
    SearchReply,
    StatusReply,
)


class Methods(LifecycleMethods, MaintenanceMethods):
    """A method for every request; `request` sends it."""

    def hello(self) -> HelloReply:
        """Return the daemon's release and capabilities: the cheapest check of it.

        Returns:
            `version`, `pid` and `protocol` of the daemon, `capabilities` (names of the requests it knows) and `limits`.

        Raises:
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return self.request(requests.hello())

    def status(self, agent: str | None = None, *, deep: bool = False) -> StatusReply:
        """Return the state of the daemon and of its agents.

        Args:
            agent: Only this agent; None: all agents. The client's own agent is not filled in.
            deep: Also probe the embedding provider, vectors, keyword index and file access of each agent.

        Returns:
            The state of the daemon, and `agents` with a row for each. Sizes are bytes, times milliseconds.

        Raises:
            AgentUnknownError: No agent has that id.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return self.request(requests.status(agent, deep=deep))

    def metrics(self) -> MetricsReply:
        """Return the daemon's counters, gauges and histograms since its start.

        Returns:
            `metrics`, and `bounds`: the upper bounds of the histograms' buckets. Durations in them are seconds.

        Raises:
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return self.request(requests.metrics())

    def search(
        self,
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
    ) -> SearchReply:
        """Search an agent's memory by keywords and vectors, as the files are now.

        Args:
            query: Any text of at most 8,000 characters; search syntax has no meaning.
            agent: The agent's id; None: the client's own agent, else the daemon's default agent.
            max_results: The most hits; None: the agent's setting, or 60 with `max_chars`.
            min_score: Leave out hits below it (0 to 1); 0 or less also turns off the relevance check.
            sources: Only hits of these sources: `memory` (notes), `sessions` (transcripts); None: all.
            path: Only hits whose path starts with it.
            deadline_ms: Limits the request, in milliseconds: hits not found by then are missing (`partial`).
            explain: Fill `explain` of each hit and `timings` of the reply.
            lexical_only: Run keyword search alone, without embedding the query.
            active_projects: Keys of the current projects: their entries score higher, those of other projects lower.
            exclude_session: Key of the calling session: its conversation since the last reset is excluded.
            max_chars: The most characters of all snippets together, 1 to 100,000; each snippet is then as long as its
                evidence deserves, and a larger limit only adds hits.
            include_weak: Keep hits that are hardly related to the query; their `relevance` is `weak`.
            project: Keep conversations held in this project, by its name or path.
            since: Keep what was said or written since a day (`2026-11-02`) or within a duration (`12h`, `7d`, `4w`).

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
        request = requests.search(
            query,
            agent=agent,
            max_results=max_results,
            min_score=min_score,
            sources=sources,
            path=path,
            deadline_ms=deadline_ms,
            explain=explain,
            lexical_only=lexical_only,
            active_projects=active_projects,
            exclude_session=exclude_session,
            max_chars=max_chars,
            include_weak=include_weak,
            project=project,
            since=since,
        )
        return self.request(request)

    def search_agents(
        self,
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
    ) -> SearchAgentsReply:
        """Search the memory of several agents and return their hits in one list.

        Args:
            query: Any text of at most 8,000 characters; search syntax has no meaning.
            agents: Ids of the agents; None: all whose memory is on. The client's own agent is not filled in.
            max_results: The most hits of all agents together; None: the default agent's setting, or 60 with
                `max_chars`.
            min_score: As in `search`, for each agent.
            sources: As in `search`, for each agent.
            path: As in `search`, for each agent.
            deadline_ms: Limits the request, in milliseconds.
            explain: Fill `explain` of each hit.
            lexical_only: Run keyword search alone, without embedding the query.
            active_projects: As in `search`, for each agent.
            exclude_session: As in `search`, for each agent.
            max_chars: The most characters of the snippets of all agents together; else as in `search`.
            include_weak: As in `search`, for each agent.
            project: As in `search`.
            since: As in `search`.

        Returns:
            `hits` as in `search`, best first, each with its `agent`; `agents`, a row for each: `mode`, `degraded`,
            `abstained`, `took_ms`, `empty`, `error` (why it was not searched); `took_ms`.

        Raises:
            QueryEmptyError: The query is blank.
            AgentUnknownError: No agent has one of those ids.
            BadParamsError: A parameter has the wrong type or is out of its range.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        request = requests.search_agents(
            query,
            agents=agents,
            max_results=max_results,
            min_score=min_score,
            sources=sources,
            path=path,
            deadline_ms=deadline_ms,
            explain=explain,
            lexical_only=lexical_only,
            active_projects=active_projects,
            exclude_session=exclude_session,
            max_chars=max_chars,
            include_weak=include_weak,
            project=project,
            since=since,
        )
        return self.request(request)

    def get(
        self,
        path: str,
        *,
        agent: str | None = None,
        from_line: int = 1,
        lines: int | None = None,
        include_conversations: bool = False,
    ) -> GetReply:
        """Return lines of a memory file, unchanged, or messages of a conversation.

        Args:
            path: The file, as in a hit: relative to the agent's workspace.
            agent: The agent's id; None: the client's own agent, else the daemon's default agent.
            from_line: The first line, counted from 1.
            lines: How many lines; None: to the end of the file.
            include_conversations: Whether `path` may be a conversation, by the path of its hits or its session's id.
                Lines are then those of its transcript, as in a hit.

        Returns:
            `text`, `from_line`, `lines` (how many were returned), `total_lines`, and `truncated` if a frame was full.
            For a conversation, `text` has a line for each message, and `line_numbers` their lines in the transcript.

        Raises:
            PathRefusedError: The path is not a memory file, or leads out of the workspace.
            FileMissingError: There is no such file.
            FileUnreadableError: The file can't be read.
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The agent's settings turn memory off.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        request = requests.get(
            path,
            agent=agent,
            from_line=from_line,
            lines=lines,
            include_conversations=include_conversations,
        )
        return self.request(request)

    def files(
        self,
        *,
        agent: str | None = None,
        sources: Sequence[str] | None = None,
        offset: int = 0,
        limit: int = 200,
    ) -> FilesReply:
        """List the files of an agent's memory as they are on disk, newest first.

        Args:
            agent: The agent's id; None: the client's own agent, else the daemon's default agent.
            sources: Only files of these sources: `memory`, `sessions`; None: all.
            offset: How many of the newest to skip.
            limit: How many to list, 1 to 1,000.

        Returns:
            `files` (each with `path`, `source`, `mtime_ms`, `size_bytes`, `chunks`, `title`, `date`), `total` (the
            number of all files) and `skipped`: files that are not indexed, each with its reason.

        Raises:
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The agent's settings turn memory off.
            BadParamsError: A parameter has the wrong type or is out of its range.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return self.request(requests.files(agent=agent, sources=sources, offset=offset, limit=limit))

    def embed(
        self, texts: Sequence[str], *, agent: str | None = None, kind: str = "document", keep: bool = False
    ) -> EmbedReply:
        """Return the vectors of texts by an agent's embedding provider.

        Args:
            texts: At most 10,000 texts of 4,000,000 characters in all.
            agent: The agent whose provider is used; None: the client's own agent, else the daemon's default agent.
            kind: `document` or `query`: some models embed them differently.
            keep: Store vectors of documents in the agent's cache, and reuse cached ones.

        Returns:
            `vectors`: `count` rows of `dims` numbers of unit length, as packed little-endian float32.

        Raises:
            ProviderUnavailableError: The agent has no embedding provider.
            ProviderFailedError: The provider failed; its subclasses say how.
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The agent's settings turn memory off.
            BadParamsError: A parameter has the wrong type or is out of its range.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return self.request(requests.embed(texts, agent=agent, kind=kind, keep=keep))
