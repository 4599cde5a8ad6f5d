"""The asynchronous form of `lifecycle_methods`.

Made by `scripts/generate` from `lifecycle_methods`: don't edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from . import lifecycle_requests
from .async_note_methods import AsyncNoteMethods
from .messages import (
    CallToolReply,
    CompactionDoneReply,
    FlushCheckReply,
    FlushDoneReply,
    HookLogReply,
    HookReply,
    PromptSectionReply,
    SessionEndedReply,
    SessionStartedReply,
    ToolsReply,
)
from .record import Any


class AsyncLifecycleMethods(AsyncNoteMethods):
    """A method for every request about tools and sessions; `request` sends it."""

    async def tools(
        self, *, agent: str | None = None, shape: str = "plain", include: Sequence[str] | None = None
    ) -> ToolsReply:
        """Return the definitions of the memory tools for a model.

        Args:
            agent: The agent's id; None: the client's own agent, else the daemon's default agent.
            shape: The model interface they are for: `plain`, `openai` or `anthropic`.
            include: Names of tools; None: `memory_search` and `memory_get`.

        Returns:
            `tools`, a list of maps with JSON Schema in them; empty if the agent's memory is turned off.

        Raises:
            AgentUnknownError: No agent has that id.
            BadParamsError: The shape or a tool is not known.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(lifecycle_requests.tools(agent=agent, shape=shape, include=include))

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None = None,
        *,
        agent: str | None = None,
        session_kind: str | None = None,
        session_key: str = "",
        deadline_ms: int | None = None,
        active_projects: Sequence[str] | None = None,
        recall: bool = False,
        include_conversations: bool = False,
    ) -> CallToolReply:
        """Execute a model's call of a memory tool; mistakes in it are returned.

        Args:
            name: The tool, as the model wrote it.
            arguments: The arguments as the model wrote them: a map, or JSON as text.
            agent: The agent's id; None: the client's own agent, else the daemon's default agent.
            session_kind: The kind of session, which determines whether citations are added; None: from the key.
            session_key: The session's key; its own conversation is excluded from searches.
            deadline_ms: Limits a search, in milliseconds.
            active_projects: Keys of the current projects, as in `search`.
            recall: Whether to search transcripts that are indexed for OpenClaw's look into other conversations alone.
            include_conversations: Whether `memory_get` may read all conversations of the agent, as in `get`.

        Returns:
            `result` as data, and `text`: the same as JSON for the model. If `ok` is false, the result describes the
            mistake in the call (`error`, `expected`, `example`).

        Raises:
            AgentUnknownError: No agent has that id.
            BadParamsError: `session_kind` or `deadline_ms` is wrong.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        request = lifecycle_requests.call_tool(
            name,
            arguments,
            agent=agent,
            session_kind=session_kind,
            session_key=session_key,
            deadline_ms=deadline_ms,
            active_projects=active_projects,
            recall=recall,
            include_conversations=include_conversations,
        )
        return await self.request(request)

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
            agent: The agent's id; None: the client's own agent, else the daemon's default agent.
            tools: Names of the model's tools; None: `memory_search` and `memory_get`.
            citations: `on`, `off` or `auto`; None: the agent's setting.
            session_kind: The kind of session, which determines the meaning of `auto`; None: from the key.
            session_key: The session's key.

        Returns:
            `text` (empty if there is no memory tool) and `citations` (`on` or `off`).

        Raises:
            AgentUnknownError: No agent has that id.
            BadParamsError: A parameter is wrong.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        request = lifecycle_requests.prompt_section(
            agent=agent, tools=tools, citations=citations, session_kind=session_kind, session_key=session_key
        )
        return await self.request(request)

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
            session_key: OpenClaw's name for the conversation.
            agent: The agent's id; None: the client's own agent, else the daemon's default agent.
            kind: `main`, `direct`, `group`, `channel`, `subagent`, `cron` or `heartbeat`; None: from the key.
            max_file_characters: Limits each file in the context, 1 to 1,000,000.
            max_characters: Limits all files together; 0: no context.

        Returns:
            `context` (one text, for the system prompt), its `files`, the session's `kind`, the user's `date`, and
            whether a sync was started (`syncing`).

        Raises:
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The agent's settings turn memory off.
            BadParamsError: A parameter is wrong.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        request = lifecycle_requests.session_started(
            session_key,
            agent=agent,
            kind=kind,
            max_file_characters=max_file_characters,
            max_characters=max_characters,
        )
        return await self.request(request)

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
            session_key: OpenClaw's name for the conversation.
            agent: The agent's id; None: the client's own agent, else the daemon's default agent.
            session_id: The session; None, and no `transcript`: the newest one.
            transcript: Its file, in the agent's sessions folder.
            slug: The name of the note; None: chosen by a model or from the conversation.
            channel: The channel of the conversation, such as `telegram`.
            reason: `new` or `reset`.
            next_session_id: The session that follows; the same id if the transcript continues after a reset.
            ended_ms: When it ended, as Unix time in milliseconds; None: now.
            private: Whether the note is labelled with `session_key` and written to `memory/sessions/`.

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
        request = lifecycle_requests.session_ended(
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
        return await self.request(request)

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
            agent: The agent's id; None: the client's own agent, else the daemon's default agent.
            total_tokens: Tokens in the context; None: unknown.
            context_window: Size of the context, in tokens; None: unknown.
            next_input_tokens: Tokens that the next turn adds.
            transcript_bytes: The size of the transcript; None: unknown.
            compaction_count: How often the session was compacted; None: the count of `compaction_done`.
            session_id: The session; another one under the same key starts at zero.
            kind: The kind of session, as in `session_started`; None: from the key.
            cli_provider: The model is a command-line program that keeps its own context.
            workspace_access: The sandbox's: `rw`, `ro` or `none`.

        Returns:
            `run`: whether to run a flush (a turn in which the model writes notes), with `system_prompt`, `prompt` and
            the `path` of the note. `reason` is a code, `message` its sentence.

        Raises:
            AgentUnknownError: No agent has that id.
            BadParamsError: A parameter is wrong.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        request = lifecycle_requests.flush_check(
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
        return await self.request(request)

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
            agent: The agent's id; None: the client's own agent, else the daemon's default agent.
            compaction_count: How often the session was compacted; None: the daemon's count.
            session_id: The session, as in `flush_check`.

        Returns:
            `compaction_count` (the recorded cycle) and whether a sync was started (`syncing`).

        Raises:
            AgentUnknownError: No agent has that id.
            BadParamsError: A parameter is wrong.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        request = lifecycle_requests.flush_done(
            session_key, agent=agent, compaction_count=compaction_count, session_id=session_id
        )
        return await self.request(request)

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
            session_key: OpenClaw's name for the conversation; without one, only the sync is started.
            agent: The agent's id; None: the client's own agent, else the daemon's default agent.
            compaction_count: How often so far; None: one more than before.
            session_id: The session, as in `flush_check`.

        Returns:
            `compaction_count` (0 without a key) and whether a sync was started (`syncing`).

        Raises:
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The agent's settings turn memory off; the compaction is counted nevertheless.
            BadParamsError: A parameter is wrong.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request. Without a
                `compaction_count` the request is not sent a second time after the connection broke.
        """
        request = lifecycle_requests.compaction_done(
            session_key, agent=agent, compaction_count=compaction_count, session_id=session_id
        )
        return await self.request(request)

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
        agent: str | None = None,
    ) -> HookReply:
        """Report an event of another program's session, and return text for its model.

        Args:
            program: The program, such as `claude-code`, `codex`, `gemini`, `cursor` or `copilot`.
            event: `session_start`, `prompt`, `compaction` or `session_end`.
            session_id: The program's id of the session.
            cwd: The session's folder.
            prompt: The user's prompt, with the event `prompt`.
            reason: Why the session started or ended, what started the compaction, or who wrote the prompt, in the
                program's words.
            transcript_path: The session's transcript.
            agent: The agent's id; None: the client's own agent, else the daemon's default agent.

        Returns:
            `text` (empty unless `decision` is `injected`), `hits` in it, and `decision`: `injected`, `empty`,
            `machine_prompt`, `not_sure`, `already_shown`, `nothing_new`, `indexed`, `off` or `gave_up`.

        Raises:
            AgentUnknownError: No agent has that id.
            BadParamsError: A parameter is wrong.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request. The request is
                not sent a second time after the connection broke.
        """
        request = lifecycle_requests.hook(
            program,
            event,
            session_id,
            cwd=cwd,
            prompt=prompt,
            reason=reason,
            transcript_path=transcript_path,
            agent=agent,
        )
        return await self.request(request)

    async def hook_log(self, *, limit: int = 50, session_id: str | None = None) -> HookLogReply:
        """Return the newest decisions of `hook`.

        Args:
            limit: How many, 1 to 1,000.
            session_id: Only those of this session, by its id or the beginning of only one; None: of all.

        Returns:
            `entries`, newest first, each with `time_ms`, `program`, `session_id`, `event`, `decision`, `chars` (of the
            injected text), the `places` of its hits, the start of the `prompt`, and, if nothing was injected, the
            place of the best `candidate` and what it `lacks`.

        Raises:
            BadParamsError: A parameter is wrong, or no session or several begin with `session_id`.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(lifecycle_requests.hook_log(limit=limit, session_id=session_id))
