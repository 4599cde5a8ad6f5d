"""Requests that report the lifecycle of a session: its start, memory flushes and compaction.

All times are milliseconds, all sizes bytes.
"""

from __future__ import annotations

from memd_client.record import field, record


@record
class SessionStartedParams:
    """The start of a session; `session_key` is OpenClaw's name for the conversation.

    `kind` is derived from the key by default. `max_file_characters` and `max_characters` limit the start-up context,
    for each file and for all; with `max_characters` 0 there is no context.
    """

    session_key: str
    agent: str | None = None
    kind: str | None = None
    max_file_characters: int = 12_000
    max_characters: int = 40_000


@record
class ContextFile:
    """A file of the start-up context: its characters in the context, all its characters, and whether it was truncated.

    Invisible characters are escaped in the context, and count there in their escaped form.
    """

    path: str
    characters: int
    total_characters: int
    cut: bool = False


@record
class SessionStartedReply:
    """The start-up context, and whether a sync was started (once per key, if the settings ask for it).

    `context` is one text of all `files`, empty if there are none. `kind` is the session's, `date` the user's day.
    """

    agent: str
    syncing: bool
    kind: str = ""
    date: str = ""
    context: str = ""
    files: list[ContextFile] = field(default_factory=list)


@record
class FlushCheckParams:
    """The fill level of a session's context; None means unknown.

    `total_tokens` are in the context, `next_input_tokens` are added by the next turn, `transcript_bytes` is the size of
    the transcript. `compaction_count` defaults to the count of `compaction_done`; another `session_id` under the same
    key restarts the count. `workspace_access` is the sandbox's: `rw`, `ro` or `none`.
    """

    session_key: str
    agent: str | None = None
    total_tokens: int | None = None
    context_window: int | None = None
    next_input_tokens: int = 0
    transcript_bytes: int | None = None
    compaction_count: int | None = None
    session_id: str = ""
    kind: str | None = None
    cli_provider: bool = False
    workspace_access: str = "rw"


@record
class FlushCheckReply:
    """Whether to run a memory flush (a turn in which the model writes notes), and why; the prompts are empty if not.

    `reason` is a code, `message` its sentence. `path` is the note to append to. `threshold_tokens` is the number of
    tokens at which a flush is due, 0 if the context is too small or its size is unknown.
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


@record
class FlushDoneParams:
    """A memory flush has run, with or without notes. `compaction_count` is as in `flush_check`."""

    session_key: str
    agent: str | None = None
    compaction_count: int | None = None
    session_id: str = ""


@record
class FlushDoneReply:
    """The compaction cycle whose flush was recorded, and whether a sync was started."""

    agent: str
    syncing: bool
    compaction_count: int


@record
class CompactionDoneParams:
    """An agent's context was compacted. `compaction_count` counts this session's; None: the daemon counts."""

    session_key: str = ""
    agent: str | None = None
    compaction_count: int | None = None
    session_id: str = ""


@record
class CompactionDoneReply:
    """Whether a sync was started, because a flush has usually written notes. The count is 0 without a session key."""

    agent: str
    syncing: bool
    compaction_count: int = 0
