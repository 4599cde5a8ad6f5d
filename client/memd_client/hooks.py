"""Requests of the hooks that run in other agents' programs, and their log.

All times are milliseconds, all sizes characters.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from memd_client.limits import AgentId, FilledKey, Key, PageSize, Path, Prompt, Word, one_of
from memd_client.schema import Record

MAX_COMMAND_CHARS, MAX_OUTPUT_CHARS = 4_000, 64_000
"""Of a command line, and of the output of a command that failed."""

CommandLine = Annotated[str, Meta(max_length=MAX_COMMAND_CHARS)]
CommandOutput = Annotated[str, Meta(max_length=MAX_OUTPUT_CHARS)]

EVENTS = (
    "session_start",
    "prompt",
    "compaction",
    "session_end",
    "before_tool",
    "after_tool",
    "after_failure",
)
"""Events of a session that a hook reports."""

DECISIONS = (
    "injected",
    "related",
    "empty",
    "machine_prompt",
    "not_sure",
    "already_shown",
    "nothing_new",
    "withheld",
    "indexed",
    "off",
    "excluded",
    "gave_up",
)
"""Codes that tell what a hook did; only `injected` and `related` come with a text."""


class HookParams(Record, frozen=True):
    """Report an event of another program's session, and return text for its model.

    Attributes:
        program: The program of `memctl hooks install`: `claude-code`, `codex`, `gemini`, `qwen`, `cursor`, `copilot`.
        event: `session_start`, `prompt`, `compaction`, `session_end`; `before_tool` (before a command or an edit),
            `after_tool` or `after_failure` (after a command that failed).
        session_id: The program's id of the session; not blank.
        cwd: Folder of the session.
        prompt: The user's prompt; only with the event `prompt`.
        reason: Why the session started or ended, what started the compaction, or who wrote the prompt, in the program's
            words.
        transcript_path: The session's transcript, or empty.
        tool: The program's name of the tool; this and the next three only with `before_tool`, `after_tool` and
            `after_failure`.
        command: The command line, or the patch.
        file: The file that is edited; empty for commands and patches.
        error: The output of the command that failed.
        agent: The agent's id; None: the default agent.

    Returns:
        `text` (empty unless `decision` is `injected` or `related`), `hits` in it, and `decision`: `injected`,
        `related`, `empty`, `machine_prompt`, `not_sure`, `already_shown`, `nothing_new`, `withheld`,
        `indexed`, `off`, `excluded` or `gave_up`.

    Raises:
        AgentUnknownError: No agent has that id.
        BadParamsError: A parameter is wrong.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request. The request is
            not sent a second time after the connection broke.
    """

    program: Annotated[str, Meta(max_length=64, extra={"filled": True})]
    event: Annotated[str, one_of(*EVENTS)]
    session_id: FilledKey
    cwd: Path = ""
    prompt: Prompt = ""
    reason: Key = ""
    transcript_path: Path = ""
    tool: Word = ""
    command: CommandLine = ""
    file: Path = ""
    error: CommandOutput = ""
    agent: AgentId | None = None


class HookReply(Record, frozen=True):
    """The text for the program's model, empty if there is none, the decision, and the number of hits in the text.

    Attributes:
        text: Text for the program's model, or empty.
        decision: `injected`; `related` (one line names where the answer may be, because the hits are not sure enough to
            quote); or why there is no text: `empty` (nothing was found), `machine_prompt` (not a person's prompt),
            `not_sure` (the hits are weak), `already_shown` (in this session), `nothing_new`, `withheld` (only text of
            other people answers), `indexed` (the session is being indexed), `off` (in the settings), `excluded` (the
            folder is, by the setting `exclude`) or `gave_up` (the search was too slow, the caller left, or memory
            failed).
        hits: Hits in the text.
    """

    text: str
    decision: str
    hits: int


class HookLogParams(Record, frozen=True):
    """Return the newest decisions of `hook`.

    Attributes:
        limit: How many, 1 to 1,000.
        session_id: Only this session: its id, or the beginning of only one; None: all.

    Returns:
        `entries`, newest first, each with `time_ms`, `program`, `session_id`, `event`, `decision`, `chars` (of the
        added text), the `places` of its hits, the start of the `prompt`, the command or the file, and, if nothing was
        added, the place of the best `candidate` and what it `lacks`. A command or an edit on which memory has nothing
        has no entry.

    Raises:
        BadParamsError: A parameter is wrong, or no session or several begin with `session_id`.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
    """

    limit: PageSize = 50
    session_id: Key | None = None


class HookLogEntry(Record, frozen=True):
    """One event: its decision, the characters of the added text, and the places of its hits.

    If nothing was added, `candidate` is the place of the best candidate, and `lacks` explains in English why it wasn't
    added, or why there is no answer; its wording may change. They are empty if they don't apply.

    Attributes:
        time_ms: When the decision was made.
        program: As in `hook`.
        session_id: The program's id of the session.
        event: As in `hook`.
        decision: As in `hook`.
        chars: Characters of the text.
        places: Places of its hits.
        prompt: The first words of the prompt, the command or the file on one line, at most 60 characters, without
            secrets.
        candidate: If nothing was added, the place of the best candidate, or empty.
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


class HookLogReply(Record, frozen=True):
    """The entries, newest first.

    Attributes:
        entries: The entries, newest first.
    """

    entries: list[HookLogEntry] = field(default_factory=list)
