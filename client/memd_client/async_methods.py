"""The methods of the asynchronous client: one for each request.

Made by `scripts/generate` from the records of `messages`: don't edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from . import requests
from .messages import (
    AppendNoteReply,
    BlameReply,
    CallToolReply,
    CaptureFactsReply,
    CompactionDoneReply,
    ConversationReadReply,
    ConversationSearchReply,
    ConversationsReply,
    EmbedReply,
    FactsForPromptReply,
    FactsReply,
    FilesReply,
    FixReply,
    FlushCheckReply,
    FlushDoneReply,
    ForgetReply,
    GetReply,
    HelloReply,
    HookLogReply,
    HookReply,
    HowReply,
    IndexReply,
    MemoryEditReply,
    MemoryForgetReply,
    MemoryRecallReply,
    MemoryStoreReply,
    MetricsReply,
    ModelReply,
    OpenPageReply,
    PromptSectionReply,
    RemoteReply,
    ResetReply,
    SearchAgentsReply,
    SearchReply,
    SessionEndedReply,
    SessionHandoffReply,
    SessionStartedReply,
    SourcesReply,
    StatusReply,
    ToolsReply,
    TrustReply,
    UsageReply,
    VacuumReply,
    WorkFilesReply,
)
from .prepared_request import OnProgress, PreparedRequest

T = TypeVar("T")


class AsyncMethods:
    """A method for each request; `request` sends it."""

    async def request(self, request: PreparedRequest[T]) -> T:
        """Send a request of `requests` and return its reply."""
        raise NotImplementedError

    async def hello(self) -> HelloReply:
        """Return the daemon's release and capabilities: the cheapest check of it.

        Returns:
            `version`, `pid` and `protocol` of the daemon, `capabilities` (names of the requests it knows) and `limits`.

        Raises:
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(requests.hello())

    async def status(self, agent: str | None = None, *, deep: bool = False) -> StatusReply:
        """Return the state of the daemon and of its agents.

        Args:
            agent: Only this agent; None: all agents. The client's own agent is not filled in.
            deep: Also probe embeddings, vectors, keyword index and file access of each agent, and report on the
                installation.

        Returns:
            The state of the daemon, and `agents` with a row for each. Sizes are bytes, times milliseconds.

        Raises:
            AgentUnknownError: No agent has that id.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(requests.status(agent, deep=deep))

    async def metrics(self) -> MetricsReply:
        """Return the daemon's counters, gauges and histograms since its start.

        Returns:
            `metrics`, and `bounds`: the upper bounds of the histograms' buckets. Durations in them are seconds.

        Raises:
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(requests.metrics())

    async def search(
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
        limit_weak: bool = False,
        caller: str = "",
        until: str | None = None,
        kinds: Sequence[str] | None = None,
        origins: Sequence[str] | None = None,
    ) -> SearchReply:
        """Search an agent's memory by keywords and vectors, as the files are now.

        Args:
            query: Any text with at least one word, at most 8,000 characters; keyword search uses the first 2,000.
                Search syntax has no meaning.
            agent: The agent's id; None: the client's own agent, else the default agent.
            max_results: The most hits, 1 to 1,000; None: the agent's `query.maxResults`, or 60 with `max_chars`.
            min_score: Leave out hits with a lower score (0 to 1); None: see relevance; 0 or less: no relevance check.
            sources: Only hits of these sources: `memory` (notes), `sessions` (transcripts), or names of sources; None:
                all.
            path: Only hits whose path starts with it.
            deadline_ms: Limits the whole request, in milliseconds; what is not found by then is missing (`partial`),
                and 200 ms later the error is `deadline_exceeded`.
            explain: Add `explain` to each hit and `timings` to the reply.
            lexical_only: Keyword search only: no text is embedded, `mode` is `keyword`, and the reply is not `degraded`
                for it.
            active_projects: Keys of the current projects: their entries score higher, those of other projects lower;
                see comments in notes.
            exclude_session: Key or id of the session that searches: its conversation since the last reset is excluded.
                A key without a transcript excludes nothing.
            max_chars: The most characters of all hits as `memctl search` shows them, 1 to 100,000; see characters
                instead of a number.
            include_weak: Keep hits that are hardly related to the query; their `relevance` is `weak`.
            project: Only conversations held in this project, by its name or path.
            since: Only what was said or written since a day (`2026-11-02`) or within a duration (`12h`, `7d`, `4w`,
                `6m`, `1y`).
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
            later statement with another value). `mode` is `hybrid`, `keyword` or `vector`; `degraded` is the reason for
            an incomplete reply; `abstained` is true if there are no hits.

        Raises:
            QueryEmptyError: The query is blank.
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The agent's settings turn memory off.
            BadParamsError: A parameter has the wrong type or is out of its range.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(
            requests.search(
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
                limit_weak=limit_weak,
                caller=caller,
                until=until,
                kinds=kinds,
                origins=origins,
            )
        )

    async def search_agents(
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
        limit_weak: bool = False,
        caller: str = "",
        until: str | None = None,
        kinds: Sequence[str] | None = None,
        origins: Sequence[str] | None = None,
    ) -> SearchAgentsReply:
        """Search the memory of several agents and return their hits in one list.

        Args:
            query: As in `search`.
            agents: The agents to search; None: all whose memory is on.
            max_results: The most hits of all agents together, 1 to 1,000; None: `query.maxResults` of the default
                agent, or 60 with `max_chars`.
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
        return await self.request(
            requests.search_agents(
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
                limit_weak=limit_weak,
                caller=caller,
                until=until,
                kinds=kinds,
                origins=origins,
            )
        )

    async def get(
        self,
        path: str,
        *,
        agent: str | None = None,
        from_line: int = 1,
        lines: int | None = None,
        include_conversations: bool = False,
    ) -> GetReply:
        """Return lines of a memory file, unchanged, or messages of a conversation.

        With `include_conversations`, `path` may also be a conversation: the path of its hits, or its session's id. Its
        lines are those of the transcript, as in a hit.

        Args:
            path: The file, as in a hit. Absolute paths, `..`, links, files other than Markdown and files outside of
                memory are refused: `path_refused`.
            agent: The agent's id; None: the client's own agent, else the default agent.
            from_line: The first line, from 1.
            lines: How many lines; None: to the end.
            include_conversations: Whether `path` may also be a conversation: the path of its hits, or the id of its
                session. Set it only for a caller that may read all conversations of the agent.

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
        return await self.request(
            requests.get(
                path,
                agent=agent,
                from_line=from_line,
                lines=lines,
                include_conversations=include_conversations,
            )
        )

    async def files(
        self,
        *,
        agent: str | None = None,
        sources: Sequence[str] | None = None,
        offset: int = 0,
        limit: int = 200,
    ) -> FilesReply:
        """List the files of an agent's memory as they are on disk, newest first.

        Args:
            agent: The agent's id; None: the client's own agent, else the default agent.
            sources: Only files of these sources: `memory`, `sessions`, or names of sources; None: all.
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
        return await self.request(requests.files(agent=agent, sources=sources, offset=offset, limit=limit))

    async def index(
        self, agent: str | None = None, *, force: bool = False, on_progress: OnProgress | None = None
    ) -> IndexReply:
        """Update an agent's index now; a search does so too, for recent changes.

        Args:
            agent: Only this agent; None: the client's own agent, else all agents.
            force: Read, chunk and embed everything again.
            on_progress: Called with each progress, in the thread or task that waits.

        Returns:
            `agents`, a row for each: `files`, `chunks`, `files_changed`, `embedded`, `took_ms`, `skipped`, `error`.

        Raises:
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The settings of the one agent turn memory off.
            DeadlineExceededError: No progress for five minutes.
            DaemonUnreachableError, ConnectionLostError: As with every request.
        """
        return await self.request(requests.index(agent, force=force, on_progress=on_progress))

    async def reset(
        self, agent: str | None = None, *, delete_vectors: bool = False, on_progress: OnProgress | None = None
    ) -> ResetReply:
        """Drop an agent's index and rebuild it from its files.

        Args:
            agent: Only this agent; None: the client's own agent, else all agents.
            delete_vectors: Delete the vectors too, so that every chunk is embedded again.
            on_progress: Called with each progress, in the thread or task that waits.

        Returns:
            `agents`, a row for each, as in `index`.

        Raises:
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The settings of the one agent turn memory off.
            DeadlineExceededError: No progress for five minutes.
            DaemonUnreachableError, ConnectionLostError: As with every request.
        """
        return await self.request(
            requests.reset(agent, delete_vectors=delete_vectors, on_progress=on_progress)
        )

    async def vacuum(self, agent: str | None = None, *, on_progress: OnProgress | None = None) -> VacuumReply:
        """Remove unneeded vectors from an agent's index and free their disk space.

        Args:
            agent: Only this agent; None: the client's own agent, else all agents.
            on_progress: Called with each progress, in the thread or task that waits.

        Returns:
            `agents`, a row for each: `bytes_before`, `bytes_after`, `vectors_removed`, `took_ms`, `error`.

        Raises:
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The settings of the one agent turn memory off.
            DeadlineExceededError: No progress for five minutes.
            DaemonUnreachableError, ConnectionLostError: As with every request.
        """
        return await self.request(requests.vacuum(agent, on_progress=on_progress))

    async def embed(
        self, texts: Sequence[str], *, agent: str | None = None, kind: str = "document", keep: bool = False
    ) -> EmbedReply:
        """Return the vectors of texts by an agent's embedding provider.

        Args:
            texts: At most 10,000 texts of 4,000,000 characters in all.
            agent: The agent whose provider is used; None: the client's own agent, else the default agent.
            kind: `document` or `query`: some models embed them differently.
            keep: Store vectors of documents in the agent's cache, and use those that are there.

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
        return await self.request(requests.embed(texts, agent=agent, kind=kind, keep=keep))

    async def model(
        self,
        ref: str = "",
        *,
        action: str = "pull",
        force: bool = False,
        on_progress: OnProgress | None = None,
    ) -> ModelReply:
        """Download, describe or remove a local embedding model, or list those on disk.

        Args:
            ref: `minilm`, `e5`, a path, `hf:owner/repo/file.gguf` or `https://…`; not needed for `list`; empty for
                `info`: the default model of `provider = "local"`.
            action: `pull`, `list`, `info` or `remove`.
            force: Remove a model although an agent's settings name it; else that is `bad_params`.
            on_progress: Called with each progress, in the thread or task that waits.

        Returns:
            `ref`, `path` and `size_bytes` of the model; for `list` `models`, a row for each; for `info` `info`, its RAM
            and tokens, also before the download of the default model, `minilm` and `e5`.

        Raises:
            ConfigInvalidError: The reference names no model.
            DownloadFailedError: The download broke; pulling again resumes it.
            ChecksumMismatchError, ModelInvalidError: The downloaded file can't be used.
            LocalExtraMissingError: The daemon lacks the packages for local models.
            BadParamsError: The model to remove is used by an agent, or a parameter is wrong.
            PathRefusedError: The file to remove is outside the models' directories.
            DeadlineExceededError: No progress for five minutes.
            DaemonUnreachableError, ConnectionLostError: As with every request.
        """
        return await self.request(requests.model(ref, action=action, force=force, on_progress=on_progress))

    async def tools(
        self, *, agent: str | None = None, shape: str = "plain", include: Sequence[str] | None = None
    ) -> ToolsReply:
        """Return the definitions of the memory tools for a model.

        Args:
            agent: The agent's id; None: the client's own agent, else the default agent.
            shape: `plain` (`{name, description, parameters}`), `openai` (`{type: "function", function: {…}}`) or
                `anthropic` (`{name, description, input_schema}`).
            include: `memory_search`, `memory_get`, `memory_store`, `memory_recall`, `memory_forget`; None: the first
                two.

        Returns:
            `tools`, a list of maps with JSON Schema in them; empty if the agent's memory is turned off.

        Raises:
            AgentUnknownError: No agent has that id.
            BadParamsError: The shape or a tool is not known.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(requests.tools(agent=agent, shape=shape, include=include))

    async def call_tool(
        self,
        name: str,
        arguments: Any = None,
        *,
        agent: str | None = None,
        session_kind: str | None = None,
        session_key: str = "",
        deadline_ms: int | None = None,
        active_projects: Sequence[str] | None = None,
        recall: bool = False,
        include_conversations: bool = False,
        caller: str = "",
    ) -> CallToolReply:
        """Execute a model's call of a memory tool; mistakes in it are returned.

        Args:
            name: The tool, as the model wrote it.
            arguments: The arguments as the model wrote them: a map, or JSON as text. Numbers may be text; a None counts
                as omitted. A text in them has at most 8,000 characters.
            agent: The agent's id; None: the client's own agent, else the default agent.
            session_kind: Decides about citations, as `kind` in `session_started`; None: derived from `session_key`.
            session_key: OpenClaw's name for the conversation, which is excluded from searches.
            deadline_ms: Limits a search, in milliseconds.
            active_projects: As in `search`.
            recall: True: `memory_search` also searches transcripts that are indexed for recall alone.
            include_conversations: Whether `memory_get` also reads conversations, as in `get`; set it only for a model
                that may read all of the agent.
            caller: As in `search`.

        Returns:
            `result` as data, and `text`: the same as JSON for the model. If `ok` is false, the result describes the
            mistake in the call (`error`, `expected`, `example`).

        Raises:
            AgentUnknownError: No agent has that id.
            BadParamsError: `session_kind` or `deadline_ms` is wrong.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(
            requests.call_tool(
                name,
                arguments,
                agent=agent,
                session_kind=session_kind,
                session_key=session_key,
                deadline_ms=deadline_ms,
                active_projects=active_projects,
                recall=recall,
                include_conversations=include_conversations,
                caller=caller,
            )
        )

    async def prompt_section(
        self,
        *,
        agent: str | None = None,
        tools: Sequence[str] | None = None,
        citations: str | None = None,
        session_kind: str | None = None,
        session_key: str = "",
    ) -> PromptSectionReply:
        """Return the section of a system prompt that describes a model's memory tools.

        Args:
            agent: The agent's id; None: the client's own agent, else the default agent.
            tools: Names of the model's tools; `sessions_search` and `sessions_history` get a sentence too, other tools
                are ignored. None: `memory_search` and `memory_get`.
            citations: `auto`, `on` or `off`; None: the agent's setting.
            session_kind: Decides what `auto` means, as in `call_tool`.
            session_key: OpenClaw's name for the conversation.

        Returns:
            `text` (empty if there is no memory tool) and `citations` (`on` or `off`).

        Raises:
            AgentUnknownError: No agent has that id.
            BadParamsError: A parameter is wrong.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(
            requests.prompt_section(
                agent=agent,
                tools=tools,
                citations=citations,
                session_kind=session_kind,
                session_key=session_key,
            )
        )

    async def session_started(
        self,
        session_key: str,
        *,
        agent: str | None = None,
        kind: str | None = None,
        max_file_characters: int = 12_000,
        max_characters: int = 40_000,
    ) -> SessionStartedReply:
        """Report the start of a session: start a sync and return the start-up context.

        Args:
            session_key: OpenClaw's name for the conversation; not blank.
            agent: The agent's id; None: the client's own agent, else the default agent.
            kind: `main`, `direct`, `group`, `channel`, `subagent`, `cron` or `heartbeat`; None: derived from the key
                (`agent:main:main` is main; `…:group:…`, `…:channel:…`, `…:subagent:…`).
            max_file_characters: Limits each file in the context, 1 to 1,000,000.
            max_characters: Limits all files together, up to 1,000,000; 0: no context.

        Returns:
            `context` (one text, for the system prompt), its `files`, the session's `kind`, the user's `date`, and
            whether a sync was started (`syncing`).

        Raises:
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The agent's settings turn memory off.
            BadParamsError: A parameter is wrong.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(
            requests.session_started(
                session_key,
                agent=agent,
                kind=kind,
                max_file_characters=max_file_characters,
                max_characters=max_characters,
            )
        )

    async def session_ended(
        self,
        session_key: str,
        *,
        agent: str | None = None,
        session_id: str | None = None,
        transcript: str | None = None,
        slug: str | None = None,
        channel: str | None = None,
        reason: str = "new",
        next_session_id: str | None = None,
        ended_ms: int | None = None,
        private: bool = False,
    ) -> SessionEndedReply:
        """Report the end of a session and write the end of its conversation to a note.

        Args:
            session_key: OpenClaw's name for the conversation; not blank.
            agent: The agent's id; None: the client's own agent, else the default agent.
            session_id: The session that ended.
            transcript: Its file, directly in the agent's folder `sessions`: a path or a name.
            slug: Name for the note; it is cleaned.
            channel: Channel of the conversation, such as `telegram`.
            reason: `new` or `reset`.
            next_session_id: The session that follows; the same as `session_id` if the transcript continues after a
                reset.
            ended_ms: When it ended, as Unix time in milliseconds: the note gets that day and hour, and of several
                resets the nearest counts; None: now.
            private: True: the note goes to `memory/sessions/` and is labelled with `session_key`.

        Returns:
            `path` of the note (empty if there is none), `messages` in it, `slug`, `slug_from`, and `reason`: `written`,
            `known`, `off`, `no_transcript` or `nothing_said`.

        Raises:
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The agent's settings turn memory off.
            PathRefusedError: The transcript is outside the sessions folder, or the note is a symbolic link.
            FileUnreadableError, NoteUnwritableError: The transcript can't be read, or the note can't be written.
            BadParamsError: A parameter is wrong.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(
            requests.session_ended(
                session_key,
                agent=agent,
                session_id=session_id,
                transcript=transcript,
                slug=slug,
                channel=channel,
                reason=reason,
                next_session_id=next_session_id,
                ended_ms=ended_ms,
                private=private,
            )
        )

    async def flush_check(
        self,
        session_key: str,
        *,
        agent: str | None = None,
        total_tokens: int | None = None,
        context_window: int | None = None,
        next_input_tokens: int = 0,
        transcript_bytes: int | None = None,
        compaction_count: int | None = None,
        session_id: str = "",
        kind: str | None = None,
        cli_provider: bool = False,
        workspace_access: str = "rw",
    ) -> FlushCheckReply:
        """Return whether a session nears compaction and should run a memory flush.

        Args:
            session_key: OpenClaw's name for the conversation.
            agent: The agent's id; None: the client's own agent, else the default agent.
            total_tokens: Tokens in the context; None or 0: not known, so tokens never make a flush due.
            context_window: Tokens that fit into the context.
            next_input_tokens: Tokens that the next turn adds.
            transcript_bytes: Size of the transcript; a flush is due from `forceFlushTranscriptBytes` on, whatever the
                tokens are.
            compaction_count: How often the session was compacted; None: counted by `compaction_done`.
            session_id: Id of the session; another id under the same key starts again.
            kind: As in `session_started`.
            cli_provider: The model runs behind a command line that keeps its own context.
            workspace_access: Access of the sandbox: `rw`, `ro` or `none`.

        Returns:
            `run`: whether to run a flush (a turn in which the model writes notes), with `system_prompt`, `prompt` and
            the `path` of the note. `reason` is a code, `message` its sentence.

        Raises:
            AgentUnknownError: No agent has that id.
            BadParamsError: A parameter is wrong.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(
            requests.flush_check(
                session_key,
                agent=agent,
                total_tokens=total_tokens,
                context_window=context_window,
                next_input_tokens=next_input_tokens,
                transcript_bytes=transcript_bytes,
                compaction_count=compaction_count,
                session_id=session_id,
                kind=kind,
                cli_provider=cli_provider,
                workspace_access=workspace_access,
            )
        )

    async def flush_done(
        self,
        session_key: str,
        *,
        agent: str | None = None,
        compaction_count: int | None = None,
        session_id: str = "",
    ) -> FlushDoneReply:
        """Report that the flush requested by `flush_check` has run, with or without notes.

        Args:
            session_key: OpenClaw's name for the conversation.
            agent: The agent's id; None: the client's own agent, else the default agent.
            compaction_count: As in `flush_check`.
            session_id: As in `flush_check`.

        Returns:
            `compaction_count` (the recorded cycle) and whether a sync was started (`syncing`).

        Raises:
            AgentUnknownError: No agent has that id.
            BadParamsError: A parameter is wrong.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(
            requests.flush_done(
                session_key, agent=agent, compaction_count=compaction_count, session_id=session_id
            )
        )

    async def compaction_done(
        self,
        session_key: str = "",
        *,
        agent: str | None = None,
        compaction_count: int | None = None,
        session_id: str = "",
    ) -> CompactionDoneReply:
        """Report that an agent's context was compacted; a sync is started.

        Args:
            session_key: OpenClaw's name for the conversation; empty: only start the sync.
            agent: The agent's id; None: the client's own agent, else the default agent.
            compaction_count: How often so far; None: one more than before.
            session_id: As in `flush_check`.

        Returns:
            `compaction_count` (0 without a key) and whether a sync was started (`syncing`).

        Raises:
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The agent's settings turn memory off; the compaction is counted nevertheless.
            BadParamsError: A parameter is wrong.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request. Without a
                `compaction_count` the request is not sent a second time after the connection broke.
        """
        return await self.request(
            requests.compaction_done(
                session_key, agent=agent, compaction_count=compaction_count, session_id=session_id
            )
        )

    async def hook(
        self,
        program: str,
        event: str,
        session_id: str,
        *,
        cwd: str = "",
        prompt: str = "",
        reason: str = "",
        transcript_path: str = "",
        tool: str = "",
        command: str = "",
        file: str = "",
        error: str = "",
        agent: str | None = None,
    ) -> HookReply:
        """Report an event of another program's session, and return text for its model.

        Args:
            program: The program of `memctl hooks install`: `claude-code`, `codex`, `gemini`, `qwen`, `cursor`,
                `copilot`.
            event: `session_start`, `prompt`, `compaction`, `session_end`; `before_tool` (before a command or an edit),
                `after_tool` or `after_failure` (after a command that failed).
            session_id: The program's id of the session; not blank.
            cwd: Folder of the session.
            prompt: The user's prompt; only with the event `prompt`.
            reason: Why the session started or ended, what started the compaction, or who wrote the prompt, in the
                program's words.
            transcript_path: The session's transcript, or empty.
            tool: The program's name of the tool; this and the next three only with `before_tool`, `after_tool` and
                `after_failure`.
            command: The command line, or the patch.
            file: The file that is edited; empty for commands and patches.
            error: The output of the command that failed.
            agent: The agent's id; None: the client's own agent, else the default agent.

        Returns:
            `text` (empty unless `decision` is `injected` or `related`), `hits` in it, and `decision`: `injected`,
            `related`, `empty`, `machine_prompt`, `not_sure`, `already_shown`, `nothing_new`, `withheld`, `indexed`,
            `off`, `excluded` or `gave_up`.

        Raises:
            AgentUnknownError: No agent has that id.
            BadParamsError: A parameter is wrong.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request. The request is
                not sent a second time after the connection broke.
        """
        return await self.request(
            requests.hook(
                program,
                event,
                session_id,
                cwd=cwd,
                prompt=prompt,
                reason=reason,
                transcript_path=transcript_path,
                tool=tool,
                command=command,
                file=file,
                error=error,
                agent=agent,
            )
        )

    async def hook_log(self, *, limit: int = 50, session_id: str | None = None) -> HookLogReply:
        """Return the newest decisions of `hook`.

        Args:
            limit: How many, 1 to 1,000.
            session_id: Only this session: its id, or the beginning of only one; None: all.

        Returns:
            `entries`, newest first, each with `time_ms`, `program`, `session_id`, `event`, `decision`, `chars` (of the
            added text), the `places` of its hits, the start of the `prompt`, the command or the file, and, if nothing
            was added, the place of the best `candidate` and what it `lacks`. A command or an edit on which memory has
            nothing has no entry.

        Raises:
            BadParamsError: A parameter is wrong, or no session or several begin with `session_id`.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(requests.hook_log(limit=limit, session_id=session_id))

    async def usage(
        self, action: str = "show", *, since: str | None = None, agent: str | None = None, limit: int = 10
    ) -> UsageReply:
        """Return what was recalled and what was not found, or clear the log of it.

        Args:
            action: `show`, or `clear`: delete all entries of the log, or those of `agent`.
            since: Only recalls since a day (`2026-11-02`) or within a duration (`12h`, `7d`, `4w`); None: all that are
                logged.
            agent: Only recalls of this agent's memory; None: all agents. The client's own agent is not filled in.
            limit: The most rows of each list, 1 to 100.

        Returns:
            `recalls`, `days`, `often`, `never`, `never_total`, `unanswered`; for `clear`, `cleared`, the number of
            deleted entries.

        Raises:
            AgentUnknownError: No agent has that id.
            BadParamsError: A parameter is wrong.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(requests.usage(action, since=since, agent=agent, limit=limit))

    async def trust(
        self,
        path: str | None = None,
        *,
        agent: str | None = None,
        release: Sequence[str] | None = None,
        limit: int = 1_000,
    ) -> TrustReply:
        """List withheld lines, or change which lines of a file are released.

        Args:
            path: Only lines of this file; None: of all files.
            agent: The agent's id; None: the client's own agent, else the default agent.
            release: Texts of lines of the file to release; an empty list takes back all its releases; None: change
                nothing.
            limit: The most lines to return, 1 to 100,000.

        Returns:
            `lines`, those of the newest file first, each with `path`, `line`, `reason` and `text`; `released`, the
            number of released lines by path.

        Raises:
            FileMissingError: The index has no file of that path.
            AgentUnknownError: No agent has that id.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(requests.trust(path, agent=agent, release=release, limit=limit))

    async def append_note(
        self, text: str, *, agent: str | None = None, date: str | None = None, key: str | None = None
    ) -> AppendNoteReply:
        """Append an entry to a daily note, and wait until it is on disk.

        Args:
            text: The entry, Markdown of at most 64 KiB.
            agent: The agent's id; None: the client's own agent, else the default agent.
            date: The day as YYYY-MM-DD; None: today in the user's time zone.
            key: Makes the request repeatable: an entry with a key that the note has is not appended again. 1 to 128 of
                `A-Z a-z 0-9 . _ : -`.

        Returns:
            `path` (`memory/YYYY-MM-DD.md`), `start_line` and `end_line` of the entry, and `appended`: false if the note
            had it already.

        Raises:
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The agent's settings turn memory off.
            NoteUnwritableError: The note can't be written; nothing was written.
            PathRefusedError, FileUnreadableError: The note is a symbolic link or not a text file.
            BadParamsError: A parameter is wrong.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request. Without a `key`
                the request is not sent a second time after the connection broke.
        """
        return await self.request(requests.append_note(text, agent=agent, date=date, key=key))

    async def memory_store(
        self,
        text: str,
        *,
        agent: str | None = None,
        importance: float | None = None,
        category: str | None = None,
        id: str | None = None,
        created_ms: int | None = None,
        vector: bytes | None = None,
        vector_model: str = "",
    ) -> MemoryStoreReply:
        """Store a fact in `memory/facts.md`, unless it duplicates an existing fact.

        Args:
            text: One fact, 1 to 4,000 characters; it becomes one line.
            agent: The agent's id; None: the client's own agent, else the default agent.
            importance: 0 to 1; None: 0.7.
            category: `preference`, `fact`, `decision`, `entity` or `other`; None: derived from the text.
            id: The fact's id in another program, 1 to 64 letters, digits, `-`, `_`; an existing one is not stored
                again. None: a new one.
            created_ms: When it was created, epoch ms; None: now.
            vector: A vector of the text, little-endian float32.
            vector_model: The model of `vector`, which is used if the agent's provider has this model.

        Returns:
            `stored`, and `id`, `category`, `path` and `line` of the fact; if `stored` is false, of its duplicate, with
            `duplicate_of` and `duplicate_text`. `compared` is `vectors`, `words` or `id`.

        Raises:
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The agent's settings turn memory off.
            NoteUnwritableError: The file can't be written; nothing was written.
            PathRefusedError, FileUnreadableError: The file of facts is a symbolic link or not a text file.
            BadParamsError: A parameter is out of its range, or the text has no word.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request. Without an `id`
                the request is not sent a second time after the connection broke.
        """
        return await self.request(
            requests.memory_store(
                text,
                agent=agent,
                importance=importance,
                category=category,
                id=id,
                created_ms=created_ms,
                vector=vector,
                vector_model=vector_model,
            )
        )

    async def memory_recall(
        self, query: str, *, agent: str | None = None, limit: int = 5, min_score: float = 0.3
    ) -> MemoryRecallReply:
        """Return the facts nearest to a query, best first.

        Args:
            query: Any text; the first 2,000 characters count. Blank: list all facts, newest first.
            agent: The agent's id; None: the client's own agent, else the default agent.
            limit: The most facts, 1 to 10,000.
            min_score: Leave out facts with a lower score, 0 to 1.

        Returns:
            `facts` (each with `id`, `text`, `importance`, `category`, `score` from 0 to 1, `path`, `line`), `total`
            (the number of all facts) and `compared`: `vectors`, `words` or `none`.

        Raises:
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The agent's settings turn memory off.
            PathRefusedError, FileUnreadableError: The file of facts is a symbolic link, or can't be read.
            BadParamsError: A parameter is out of its range.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(
            requests.memory_recall(query, agent=agent, limit=limit, min_score=min_score)
        )

    async def memory_edit(
        self,
        id: str,
        text: str,
        *,
        agent: str | None = None,
        expected_text: str | None = None,
        importance: float | None = None,
        category: str | None = None,
    ) -> MemoryEditReply:
        """Change the text of a fact, on its line; all other lines stay unchanged.

        Args:
            id: The fact's id.
            text: Its new text, 1 to 4,000 characters; it becomes one line.
            agent: The agent's id; None: the client's own agent, else the default agent.
            expected_text: The text that the caller knows; if it differs from the file's, the error is `fact_changed`.
            importance: 0 to 1; None: unchanged.
            category: As in `memory_store`; None: unchanged.

        Returns:
            `stored`, and `id`, `category`, `path` and `line` of the fact. If `stored` is false, another fact has the
            same content (`duplicate_of`, `duplicate_text`) and nothing was changed.

        Raises:
            FactMissingError: No fact has that id.
            FactChangedError: The fact's text is not `was`.
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The agent's settings turn memory off.
            NoteUnwritableError: The file can't be written; nothing was written.
            PathRefusedError, FileUnreadableError: The file of facts is a symbolic link, or can't be read.
            BadParamsError: A parameter is out of its range, or the text has no word.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request. The request is
                not sent a second time after the connection broke.
        """
        return await self.request(
            requests.memory_edit(
                id, text, agent=agent, expected_text=expected_text, importance=importance, category=category
            )
        )

    async def memory_forget(
        self, id: str | None = None, *, query: str | None = None, agent: str | None = None
    ) -> MemoryForgetReply:
        """Remove a fact: the one with an id, or the only clear match of a query.

        Args:
            id: The fact's id.
            query: A text that clearly means one fact; give either this or `id`.
            agent: The agent's id; None: the client's own agent, else the default agent.

        Returns:
            `forgotten`: the fact, or None. If None, `candidates` are the facts the query matches, at most five.

        Raises:
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The agent's settings turn memory off.
            NoteUnwritableError: The file can't be written; nothing was written.
            PathRefusedError, FileUnreadableError: The file of facts is a symbolic link, or can't be read.
            BadParamsError: Neither or both of `id` and `query` were given.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request. The request is
                not sent a second time after the connection broke.
        """
        return await self.request(requests.memory_forget(id, query=query, agent=agent))

    async def forget(
        self,
        action: str = "find",
        target: str = "",
        *,
        agent: str | None = None,
        everywhere: bool = False,
        confirmed: str = "",
        receipt: str = "",
    ) -> ForgetReply:
        """Find what would be forgotten, forget it, list receipts, or undo.

        Args:
            action: `find` changes nothing; `forget` needs `confirmed`; `receipts` lists receipts; `undo` takes back
                `receipt`.
            target: The id of a fact, the path of a note, the path or id of a conversation, an exact text, or a query. A
                text in double quotes is exact, however short it is.
            agent: The agent's id; None: the client's own agent, else the default agent.
            everywhere: All agents of this machine, their remotes and other machines.
            confirmed: The `found_id` of a reply to `find` that the user has confirmed.
            receipt: The id of a receipt; empty: the newest.

        Returns:
            For `find`, `kind`, `statements`, `places` and `found_id`; for all other actions `receipts`.

        Raises:
            AgentUnknownError: No agent has that id.
            BadParamsError: The target is too short, the memory has changed since `confirmed`, or there is no such
                receipt.
            FileMissingError: Nothing matches the target.
            MemoryDisabledError: The agent's settings turn memory off.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request. A forget that was
                begun is finished by the daemon, also after it was killed.
        """
        return await self.request(
            requests.forget(
                action, target, agent=agent, everywhere=everywhere, confirmed=confirmed, receipt=receipt
            )
        )

    async def facts(self, *, agent: str | None = None, offset: int = 0, limit: int = 200) -> FactsReply:
        """List the facts of an agent, newest first.

        Args:
            agent: The agent's id; None: the client's own agent, else the default agent.
            offset: How many of the newest to skip.
            limit: How many to list, 1 to 1,000.

        Returns:
            `facts` as in `memory_recall`, with a `score` of 0, and `total`: the number of all facts.

        Raises:
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The agent's settings turn memory off.
            PathRefusedError, FileUnreadableError: The file of facts is a symbolic link, or can't be read.
            BadParamsError: A parameter is out of its range.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(requests.facts(agent=agent, offset=offset, limit=limit))

    async def facts_for_prompt(
        self, prompt: str, *, agent: str | None = None, force: bool = False
    ) -> FactsForPromptReply:
        """Return the facts nearest to a prompt, as a block of text to put before it.

        Args:
            prompt: The user's message. Channel headers and injected blocks in its first 200,000 characters are removed;
                of the rest the first 2,000 count.
            agent: The agent's id; None: the client's own agent, else the default agent.
            force: Recall facts even if the setting `autoRecall` is off.

        Returns:
            `text`, marked as data and escaped, and its `facts`. If it is empty, `reason` is `off`, `blank`, `no_facts`
            or `nothing_near`.

        Raises:
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The agent's settings turn memory off.
            PathRefusedError, FileUnreadableError: The file of facts is a symbolic link, or can't be read.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(requests.facts_for_prompt(prompt, agent=agent, force=force))

    async def capture_facts(
        self, messages: Sequence[Mapping[str, Any]], *, agent: str | None = None, force: bool = False
    ) -> CaptureFactsReply:
        """Store lasting statements of the user as facts, at most three per request.

        Args:
            messages: At most 1,000 maps with `role` and `content`: a text, or a list of parts (parts of type `text`
                count).
            agent: The agent's id; None: the client's own agent, else the default agent.
            force: Capture facts even if the setting `autoCapture` is off.

        Returns:
            `stored` (each with the `index` of its message, from 0, and the fact), `skipped` (each with `index` and
            `reason`), and `reason`: `off` if no message was examined.

        Raises:
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The agent's settings turn memory off.
            NoteUnwritableError: The file can't be written; nothing was written.
            PathRefusedError, FileUnreadableError: The file of facts is a symbolic link, or can't be read.
            BadParamsError: A parameter is wrong.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(requests.capture_facts(messages, agent=agent, force=force))

    async def sources(
        self, action: str = "list", name: str = "", *, session: str = "", agent: str | None = None
    ) -> SourcesReply:
        """List the sources of other programs, or delete copies of deleted conversations.

        Args:
            action: `list`, or `delete_copies` to delete copies of deleted conversations for good.
            name: With `delete_copies`, the source.
            session: With `delete_copies`, one session, by its id or the beginning of it; empty: all.
            agent: The agent's id; None: all agents. The client's own agent is not filled in.

        Returns:
            `sources`, those of agents; `found`, those on this machine that no agent has; `deleted`, how many copies
            were deleted.

        Raises:
            AgentUnknownError: No agent has that id.
            BadParamsError: No agent has a source of that name.
            DaemonUnreachableError, ConnectionLostError: As with every request.
        """
        return await self.request(requests.sources(action, name, session=session, agent=agent))

    async def remote(
        self,
        action: str = "status",
        *,
        agent: str | None = None,
        url: str = "",
        path: str = "",
        paths: Sequence[str] = (),
        accept_rewrite: bool = False,
        missing: str = "",
        confirmed: bool = False,
    ) -> RemoteReply:
        """Replicate the Markdown of agents to other machines through a git remote.

        Args:
            action: `status`; `add` to connect an agent to `url`; `clone` to connect all agents that `url` has memory
                of, or only `agent`; `sync` now; `pause`, `resume` and `remove`; `resolve` to delete files of conflicts;
                `purge` to remove earlier contents of the file or folder `path` from the history, here and on the
                remote, also under names that the file had before.
            agent: One agent; None: all that have a remote, for `add`, `remove`, `resolve`, `purge` and `missing` the
                default agent. The client's own agent is not filled in.
            url: With `add` and `clone`, the git repository; a folder as an absolute path.
            path: With `purge`, the file or folder whose earlier contents leave the history.
            paths: With `resolve`, files of conflicts to delete; empty: all.
            accept_rewrite: With `sync`, accept a remote whose history was rewritten.
            missing: With `resume`, `delete` deletes missing files on all machines, and `restore` restores them.
            confirmed: With `clone`, create more than 10 agents.

        Returns:
            `remotes`, each with `state`, `ahead`, `machines`, `conflicts` and `problem`; `resolved`, the files deleted;
            `commits`, how many a purged history has, and `purged`, the files whose earlier contents were removed.

        Raises:
            BadParamsError: The action, the address or a file is unknown.
            RemoteUnknownError: The agent has no remote.
            RemoteExistsError: The agent has another remote.
            RemoteUnreachableError: The remote can't be reached, or refuses this user.
            RemoteRefusedError: The remote has what memd does not accept; nothing of it was used.
            RemoteRewrittenError: Its history was rewritten.
            GitMissingError: The machine of the daemon has no git.
            DaemonUnreachableError, ConnectionLostError: As with every request.
        """
        return await self.request(
            requests.remote(
                action,
                agent=agent,
                url=url,
                path=path,
                paths=paths,
                accept_rewrite=accept_rewrite,
                missing=missing,
                confirmed=confirmed,
            )
        )

    async def conversations(
        self,
        *,
        agent: str | None = None,
        sources: Sequence[str] | None = None,
        project: str | None = None,
        since: str | None = None,
        until: str | None = None,
        title: str = "",
        offset: int = 0,
        limit: int = 100,
    ) -> ConversationsReply:
        """List an agent's indexed conversations, newest first, without subagents'.

        Args:
            agent: The agent's id; None: the client's own agent, else the default agent.
            sources: Only these sources of transcripts; None: all.
            project: Only conversations held in this project, by its name or path.
            since: Only conversations that went on after a day began (`2026-11-02`) or within a duration (`12h`, `7d`).
            until: Only conversations that began before the end of a day (`2026-11-30`), or before a duration (`7d`).
            title: Only conversations whose title has all of these words, in any case; empty: all.
            offset: How many of the newest to skip.
            limit: How many to list, 1 to 1,000.

        Returns:
            `conversations`, newest first; `total`, how many match; `sources` and `projects`, those of all
            conversations, the most recent first.

        Raises:
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The agent's settings turn memory off.
            BadParamsError: A parameter has the wrong type or is out of its range.
            DaemonUnreachableError, ConnectionLostError: As with every request.
        """
        return await self.request(
            requests.conversations(
                agent=agent,
                sources=sources,
                project=project,
                since=since,
                until=until,
                title=title,
                offset=offset,
                limit=limit,
            )
        )

    async def conversation_search(
        self,
        query: str,
        *,
        agent: str | None = None,
        max_results: int | None = None,
        sources: Sequence[str] | None = None,
        project: str | None = None,
        since: str | None = None,
        exclude_session: str | None = None,
        deadline_ms: int | None = None,
        caller: str = "",
        origins: Sequence[str] | None = None,
    ) -> ConversationSearchReply:
        """Search conversations of all programs and return sessions with their best lines.

        Args:
            query: What to search for, as in `search`.
            agent: The agent's id; None: the client's own agent, else the default agent.
            max_results: The most sessions, 1 to 50; None: 5.
            sources: Only these sources of transcripts; None: all.
            project: As in `search`.
            since: As in `search`.
            exclude_session: As in `search`.
            deadline_ms: As in `search`.
            caller: As in `search`.
            origins: As in `search`.

        Returns:
            `conversations`, best first, each with `session`, `path`, `score`, `relevance` and `excerpts`.

        Raises:
            QueryEmptyError: The query has no text.
            AgentUnknownError: No agent has that id.
            DeadlineExceededError: The deadline passed.
            DaemonUnreachableError, ConnectionLostError: As with every request.
        """
        return await self.request(
            requests.conversation_search(
                query,
                agent=agent,
                max_results=max_results,
                sources=sources,
                project=project,
                since=since,
                exclude_session=exclude_session,
                deadline_ms=deadline_ms,
                caller=caller,
                origins=origins,
            )
        )

    async def conversation_read(
        self,
        session: str,
        *,
        agent: str | None = None,
        line: int | None = None,
        first: int | None = None,
        messages: int = 20,
    ) -> ConversationReadReply:
        """Return messages of a session, as they are on disk now, without secrets.

        Messages around the place `line` are returned, or from message `first` (from 1); without either the last ones.

        Args:
            session: Id of the session, its path in the index, or a citation such as `codex/0199#L12-L18`: then messages
                around its first line.
            agent: The agent's id; None: the client's own agent, else the default agent.
            line: A place as in a hit's `start_line` or an excerpt's `line`.
            first: Number of the first message, from 1; without it and `line`: the last messages.
            messages: The most messages, 1 to 200.

        Returns:
            `messages`, each with `number`, `line`, `speaker`, `text` and `time_ms`; `total`; and the `session`.

        Raises:
            FileMissingError: No session of the agent has that id.
            AgentUnknownError: No agent has that id.
            DaemonUnreachableError, ConnectionLostError: As with every request.
        """
        return await self.request(
            requests.conversation_read(session, agent=agent, line=line, first=first, messages=messages)
        )

    async def session_handoff(
        self,
        *,
        session: str = "",
        project: str = "",
        to: str = "",
        agent: str | None = None,
        exclude_session: str = "",
    ) -> SessionHandoffReply:
        """Return a digest of a session, with which another program can continue it.

        Reading a digest changes nothing, so it can be read again, and by several programs.

        Args:
            session: Id of the session or the beginning of its id, or its path in the index; empty: the newest session
                of `project` that has a request and an answer.
            project: Name of the project's folder, or a path in it; worktrees of a repository are one project. Empty:
                any.
            to: Name of the program that continues, for `start`; empty: none.
            agent: The agent's id; None: the client's own agent, else the default agent and `shared`.
            exclude_session: Id of a session that isn't chosen: the one that asks.

        Returns:
            `text`, the digest, and `start`, the command that starts the other program with it.

        Raises:
            FileMissingError: No session has that id, or no session of the project has a request and an answer.
            BadParamsError: Several sessions have ids that begin with `session`; the hint lists them. Or `to` is no
                program that can be started with a prompt.
            AgentUnknownError: No agent has that id.
            DaemonUnreachableError, ConnectionLostError: As with every request.
        """
        return await self.request(
            requests.session_handoff(
                session=session, project=project, to=to, agent=agent, exclude_session=exclude_session
            )
        )

    async def how(
        self,
        command: str,
        *,
        agent: str | None = None,
        project: str = "",
        include_failed: bool = False,
        limit: int = 8,
    ) -> HowReply:
        """Return how a command really runs here: invocations that succeeded, best first.

        Args:
            command: A program (`pytest`), a program and its subcommand (`cargo test`), a whole command line, or a
                description such as `run the integration tests`.
            agent: The agent's id; None: the client's own agent, else the default agent and `shared`.
            project: Name of a project's folder, or a path in it, whose commands come first; empty: none is preferred.
            include_failed: Whether invocations that only ever failed are returned too, after all others.
            limit: The most invocations, 1 to 100.

        Returns:
            `commands`, best first; `only_failed`, how many matching invocations only ever failed; and `searched`, how
            many commands are recorded.

        Raises:
            QueryEmptyError: The command has no text.
            AgentUnknownError: No agent has that id.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(
            requests.how(command, agent=agent, project=project, include_failed=include_failed, limit=limit)
        )

    async def fix(
        self, error: str, *, agent: str | None = None, project: str = "", limit: int = 3
    ) -> FixReply:
        """Return what fixed an error before, best first.

        A fix is a failed command with its own next success, and the steps between them.

        Args:
            error: The output of the failed command, its first lines, a stack trace, or a description of the error in
                any language.
            agent: The agent's id; None: the client's own agent, else the default agent and `shared`.
            project: Name of a project's folder, or a path in it, whose fixes come first; empty: none is preferred.
            limit: The most fixes, 1 to 100.

        Returns:
            `fixes`, best first; `reruns`, how often the same command succeeded without any change; `unfixed`, how often
            no success followed; and `searched`, how many failed commands are recorded.

        Raises:
            QueryEmptyError: The error has no text.
            AgentUnknownError: No agent has that id.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(requests.fix(error, agent=agent, project=project, limit=limit))

    async def blame(
        self, file: str, *, line: int | None = None, agent: str | None = None, limit: int = 10
    ) -> BlameReply:
        """Return the sessions that touched a file, newest first.

        Each one has what the user requested, and what was decided about the file.

        Args:
            file: The file: an absolute path, or the end of a path such as `src/queue.py`. Renames are followed by git.
            line: Only sessions that changed this line, from 1; None: the whole file.
            agent: The agent's id; None: the client's own agent, else the default agent and `shared`.
            limit: The most sessions, 1 to 100.

        Returns:
            `sessions`, newest first, and `names`, all paths that the file has had.

        Raises:
            BadParamsError: `file` is empty.
            AgentUnknownError: No agent has that id.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(requests.blame(file, line=line, agent=agent, limit=limit))

    async def work_files(
        self, topic: str, *, agent: str | None = None, project: str = "", limit: int = 20
    ) -> WorkFilesReply:
        """Return the files that the work on a subject touched.

        `files` lists files of memory instead.

        Args:
            topic: The subject, as in `search`.
            agent: The agent's id; None: the client's own agent, else the default agent and `shared`.
            project: Only files of work in this project: the name of its folder, or a path in it; empty: any.
            limit: The most files, 1 to 100.

        Returns:
            `files`, best first.

        Raises:
            QueryEmptyError: The topic has no text.
            AgentUnknownError: No agent has that id.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(requests.work_files(topic, agent=agent, project=project, limit=limit))

    async def open_page(self, agent: str | None = None) -> OpenPageReply:
        """Open the web page that shows the memory of agents, and return its address.

        Args:
            agent: Only this agent; None: all agents. The client's own agent is not filled in.

        Returns:
            `url`, which works once, within `expires_s` seconds: treat it like a password until then.

        Raises:
            AgentUnknownError: No agent has that id.
            PageUnavailableError: The page can't be served.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(requests.open_page(agent))
