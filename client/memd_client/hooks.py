"""Requests of the hooks that run in other agents' programs, and their log.

All times are milliseconds, all sizes characters.
"""

from __future__ import annotations

from memd_client.record import field, record

EVENTS = ("session_start", "prompt", "compaction", "session_end")
"""Events of a session that a hook reports."""

DECISIONS = (
    "injected",
    "empty",
    "machine_prompt",
    "not_sure",
    "already_shown",
    "nothing_new",
    "indexed",
    "off",
    "gave_up",
)
"""Codes that tell what a hook did; only `injected` comes with a text."""


@record
class HookParams:
    """An event of a session in another program.

    `program` is the program's name as in `memctl hooks install`, `event` one of `EVENTS`, `session_id` the program's
    own id. `cwd` is the session's folder, `prompt` the user's prompt. `reason` is in the program's words: why the
    session started or ended, what started the compaction, or who wrote the prompt.
    """

    program: str
    event: str
    session_id: str
    cwd: str = ""
    prompt: str = ""
    reason: str = ""
    transcript_path: str = ""
    agent: str | None = None


@record
class HookReply:
    """The text for the program's model, empty if there is none, the decision, and the number of hits in the text."""

    text: str
    decision: str
    hits: int


@record
class HookLogParams:
    """How many of the newest entries to return.

    `session_id` keeps those of one session: its id, or the beginning of only one.
    """

    limit: int = 50
    session_id: str | None = None


@record
class HookLogEntry:
    """One event: its decision, the characters of the injected text, and the places of its hits.

    `prompt` is the start of the prompt, at most 60 characters on one line without secrets. If nothing was injected,
    `candidate` is the place of the best candidate, and `lacks` says in English why it wasn't injected, or why there
    is no answer; its wording may change. They are empty if they don't apply.
    """

    time_ms: int
    program: str
    session_id: str
    event: str
    decision: str
    chars: int
    places: list[str] = field(default_factory=list)
    prompt: str = ""
    candidate: str = ""
    lacks: str = ""


@record
class HookLogReply:
    """The entries, newest first."""

    entries: list[HookLogEntry] = field(default_factory=list)
