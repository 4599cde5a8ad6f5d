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

    Attributes:
        program: The program, as in `memctl hooks install`: `claude-code`, `codex`, `gemini`, `cursor` or `copilot`.
        event: `session_start`, `prompt`, `compaction` or `session_end`.
        session_id: The program's id of the session; not blank.
        cwd: Folder of the session.
        prompt: The user's prompt; only with the event `prompt`.
        reason: Why the session started or ended, what started the compaction, or who wrote the prompt, in the program's
            words.
        transcript_path: The session's transcript, or empty.
        agent: The agent's id; None: the default agent.
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
    """The text for the program's model, empty if there is none, the decision, and the number of hits in the text.

    Attributes:
        text: Text for the program's model, or empty.
        decision: `injected`; or why there is no text: `empty` (nothing was found), `machine_prompt` (not a person's
            prompt), `not_sure` (the hits are weak), `already_shown` (in this session), `nothing_new`, `indexed` (the
            session is being indexed), `off` (in the settings) or `gave_up` (the search was too slow, the caller left,
            or memory failed).
        hits: Hits in the text.
    """

    text: str
    decision: str
    hits: int


@record
class HookLogParams:
    """How many of the newest entries to return.

    Attributes:
        limit: Entries in the reply, 1 to 1,000.
        session_id: Only this session: its id, or the beginning of only one; None: all.
    """

    limit: int = 50
    session_id: str | None = None


@record
class HookLogEntry:
    """One event: its decision, the characters of the injected text, and the places of its hits.

    If nothing was injected, `candidate` is the place of the best candidate, and `lacks` says in English why it wasn't
    injected, or why there is no answer; its wording may change. They are empty if they don't apply.

    Attributes:
        time_ms: When the decision was made.
        program: As in `hook`.
        session_id: The program's id of the session.
        event: As in `hook`.
        decision: As in `hook`.
        chars: Characters of the text.
        places: Places of its hits.
        prompt: The first words of the prompt on one line, at most 60 characters, without secrets.
        candidate: If nothing was injected, the place of the best candidate, or empty.
        lacks: What the candidate lacks, or why there is no answer, in English, for people; the wording may change.
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
    """The entries, newest first.

    Attributes:
        entries: The entries, newest first.
    """

    entries: list[HookLogEntry] = field(default_factory=list)
