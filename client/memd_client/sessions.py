"""Requests that report the lifecycle of a session: its start, memory flushes and compaction.

All times are milliseconds, all sizes bytes.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from memd_client.limits import AgentId, Count, FilledKey, Key, SessionKind, one_of
from memd_client.schema import Record


class SessionStartedParams(Record, frozen=True):
    """Report the start of a session: start a sync and return the start-up context.

    Attributes:
        session_key: OpenClaw's name for the conversation; not blank.
        agent: The agent's id; None: the default agent.
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

    session_key: FilledKey
    agent: AgentId | None = None
    kind: SessionKind | None = None
    max_file_characters: Annotated[int, Meta(ge=1, le=1_000_000)] = 12_000
    max_characters: Annotated[int, Meta(ge=0, le=1_000_000)] = 40_000


class ContextFile(Record, frozen=True):
    """A file of the start-up context: its characters in the context, all its characters, and whether it was truncated.

    Invisible characters are escaped in the context, and count there in their escaped form.

    Attributes:
        path: Path relative to the workspace, as in a hit.
        characters: Its characters in `context`.
        total_characters: Characters of the file; invisible ones count as they are written out.
        cut: The file was cut.
    """

    path: str
    characters: int
    total_characters: int
    cut: bool = False


class SessionStartedReply(Record, frozen=True):
    """The start-up context, and whether a sync was started (once per key, if the settings ask for it).

    Attributes:
        agent: The agent's id.
        syncing: A sync was started: for the first start of each key, if `sync.onSessionStart` is on.
        kind: Kind of the session.
        date: The user's day.
        context: The notes that the session starts with, or empty.
        files: The files in `context`.
    """

    agent: str
    syncing: bool
    kind: str = ""
    date: str = ""
    context: str = ""
    files: list[ContextFile] = field(default_factory=list)


class FlushCheckParams(Record, frozen=True):
    """Return whether a session nears compaction and should run a memory flush.

    Attributes:
        session_key: OpenClaw's name for the conversation.
        agent: The agent's id; None: the default agent.
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

    session_key: FilledKey
    agent: AgentId | None = None
    total_tokens: Count | None = None
    context_window: Count | None = None
    next_input_tokens: Count = 0
    transcript_bytes: Count | None = None
    compaction_count: Count | None = None
    session_id: Key = ""
    kind: SessionKind | None = None
    cli_provider: bool = False
    workspace_access: Annotated[str, one_of("rw", "ro", "none")] = "rw"


class FlushCheckReply(Record, frozen=True):
    """Whether to run a memory flush (a turn in which the model writes notes), and why; the prompts are empty if not.

    Attributes:
        agent: The agent's id.
        run: True: a flush is due.
        reason: `tokens` or `transcript_size` if due; else `off`, `heartbeat`, `cli_provider`, `no_workspace`,
            `workspace_read_only`, `flushed_already`, `tokens_unknown`, `window_unknown`, `window_too_small` or
            `below_threshold`.
        message: The reason as a sentence.
        threshold_tokens: Tokens at which a flush is due; 0: never.
        compaction_count: How often the session was compacted.
        system_prompt: System prompt for the flush; empty if `run` is false.
        prompt: Prompt for the flush; empty if `run` is false.
        path: The note to append to, by the user's date.
    """

    agent: str
    run: bool
    reason: str
    message: str
    threshold_tokens: int
    compaction_count: int
    system_prompt: str = ""
    prompt: str = ""
    path: str = ""


class FlushDoneParams(Record, frozen=True):
    """Report that the flush requested by `flush_check` has run, with or without notes.

    Attributes:
        session_key: OpenClaw's name for the conversation.
        agent: The agent's id; None: the default agent.
        compaction_count: As in `flush_check`.
        session_id: As in `flush_check`.

    Returns:
        `compaction_count` (the recorded cycle) and whether a sync was started (`syncing`).

    Raises:
        AgentUnknownError: No agent has that id.
        BadParamsError: A parameter is wrong.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
    """

    session_key: FilledKey
    agent: AgentId | None = None
    compaction_count: Count | None = None
    session_id: Key = ""


class FlushDoneReply(Record, frozen=True):
    """The compaction cycle whose flush was recorded, and whether a sync was started.

    Attributes:
        agent: The agent's id.
        syncing: A sync was started; false if the agent's memory is off.
        compaction_count: The cycle recorded.
    """

    agent: str
    syncing: bool
    compaction_count: int


class CompactionDoneParams(Record, frozen=True):
    """Report that an agent's context was compacted; a sync is started.

    Attributes:
        session_key: OpenClaw's name for the conversation; empty: only start the sync.
        agent: The agent's id; None: the default agent.
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

    session_key: Key = ""
    agent: AgentId | None = None
    compaction_count: Count | None = None
    session_id: Key = ""


class CompactionDoneReply(Record, frozen=True):
    """Whether a sync was started, because a flush has usually written notes. The count is 0 without a session key.

    Attributes:
        agent: The agent's id.
        syncing: A sync was started.
        compaction_count: The count; 0 without a key.
    """

    agent: str
    syncing: bool
    compaction_count: int = 0
