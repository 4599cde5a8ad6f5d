"""A session's course as an agent tells it: it starts, nears compaction, writes down what should last, is compacted.

All times are milliseconds, all sizes bytes.
"""

from __future__ import annotations

from memd_client.record import field, record


@record
class SessionStartedParams:
    """An agent's session begins; `session_key` is OpenClaw's name for the conversation.

    `kind` left out is read off the key. `max_file_characters` and `max_characters` bound what of each file, and of all
    together, is given to start with; with `max_characters` 0 nothing is.
    """

    session_key: str
    agent: str | None = None
    kind: str | None = None
    max_file_characters: int = 12_000
    max_characters: int = 40_000


@record
class ContextFile:
    """A file of the start-up context: how many characters of it there are, how many it has, and whether it was cut.

    Unseen characters are written out in the context, and count there as they are written.
    """

    path: str
    characters: int
    total_characters: int
    cut: bool = False


@record
class SessionStartedReply:
    """What the session may begin with, and whether a sync was started: the first time for each key, where wanted.

    `context` is one text of all `files`, empty where there are none. `kind` is the session's, `date` the user's day.
    """

    agent: str
    syncing: bool
    kind: str = ""
    date: str = ""
    context: str = ""
    files: list[ContextFile] = field(default_factory=list)


@record
class FlushCheckParams:
    """How full a session's context is. What is left out is not known.

    `total_tokens` is what the context holds, `next_input_tokens` what the coming turn adds, `transcript_bytes` the size
    of the transcript. `compaction_count` left out is what `compaction_done` counted; another `session_id` under
    the same key begins anew. `workspace_access` is the sandbox's: `rw`, `ro` or `none`.
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
    """Whether to run the turn that writes down what should last, and why; the prompts are empty where not.

    `reason` is a code, `message` its sentence. `path` is the note to append to. `threshold_tokens` is where tokens make
    it due: 0 where the context is too small for that, or its size unknown.
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
    """The turn was run, whether or not it wrote anything. `compaction_count` as in `flush_check`."""

    session_key: str
    agent: str | None = None
    compaction_count: int | None = None
    session_id: str = ""


@record
class FlushDoneReply:
    """The cycle that was recorded as done, and whether a sync was started."""

    agent: str
    syncing: bool
    compaction_count: int


@record
class CompactionDoneParams:
    """An agent's context was compacted. `compaction_count` is how often in this session; left out it is counted."""

    session_key: str = ""
    agent: str | None = None
    compaction_count: int | None = None
    session_id: str = ""


@record
class CompactionDoneReply:
    """A sync was started, since a flush has usually just written notes. The count is 0 without a session's key."""

    agent: str
    syncing: bool
    compaction_count: int = 0
