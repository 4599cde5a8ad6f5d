"""Requests that write notes: the note of an ended session, and entries of a daily note.

All paths are relative to the agent's workspace; line numbers start at 1 and ranges are inclusive.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from memd_client.limits import (
    KEY_PATTERN,
    MAX_ENTRY_KEY_CHARS,
    MAX_NOTE_BYTES,
    AgentId,
    FilledKey,
    Key,
    Path,
    Word,
    matching,
    one_of,
)
from memd_client.schema import Record

MAX_ENDED_MS = 253_370_764_800_000
"""The start of the year 9999, so that any time zone can show the time."""


class SessionEndedParams(Record, frozen=True):
    """Report the end of a session and write the end of its conversation to a note.

    Attributes:
        session_key: OpenClaw's name for the conversation; not blank.
        agent: The agent's id; None: the default agent.
        session_id: The session that ended.
        transcript: Its file, directly in the agent's folder `sessions`: a path or a name.
        slug: Name for the note; it is cleaned.
        channel: Channel of the conversation, such as `telegram`.
        reason: `new` or `reset`.
        next_session_id: The session that follows; the same as `session_id` if the transcript continues after a reset.
        ended_ms: When it ended, as Unix time in milliseconds: the note gets that day and hour, and of several resets
            the nearest counts; None: now.
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

    session_key: FilledKey
    agent: AgentId | None = None
    session_id: Key | None = None
    transcript: Path | None = None
    slug: Key | None = None
    channel: Key | None = None
    reason: Annotated[str, one_of("new", "reset")] = "new"
    next_session_id: Key | None = None
    ended_ms: (
        Annotated[int, Meta(gt=0, lt=MAX_ENDED_MS, extra={"expected": "a Unix time in milliseconds"})] | None
    ) = None
    private: bool = False


class SessionEndedReply(Record, frozen=True):
    """The note, made of `messages` messages; `path` is empty if there is none.

    Attributes:
        agent: The agent's id.
        path: The note; empty: none.
        messages: Messages in the note.
        slug: Name of the note.
        slug_from: Source of the slug: `caller`, `model`, `words` or `time`.
        reason: `written`, `known` (this note existed), or why there is none: `off` (in the settings), `no_transcript`,
            `nothing_said`.
    """

    agent: str
    path: str
    messages: int
    slug: str
    slug_from: str
    reason: str


class AppendNoteParams(Record, frozen=True):
    """Append an entry to a daily note, and wait until it is on disk.

    Attributes:
        text: The entry, Markdown of at most 64 KiB.
        agent: The agent's id; None: the default agent.
        date: The day as YYYY-MM-DD; None: today in the user's time zone.
        key: Makes the request repeatable: an entry with a key that the note has is not appended again. 1 to 128 of `A-Z
            a-z 0-9 . _ : -`.

    Returns:
        `path` (`memory/YYYY-MM-DD.md`), `start_line` and `end_line` of the entry, and `appended`: false if the note
        had it already.

    Raises:
        AgentUnknownError: No agent has that id.
        MemoryDisabledError: The agent's settings turn memory off.
        NoteUnwritableError: The note can't be written; nothing was written.
        PathRefusedError, FileUnreadableError: The note is a symbolic link or not a text file.
        BadParamsError: A parameter is wrong.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request. Without a
            `key` the request is not sent a second time after the connection broke.
    """

    text: Annotated[str, Meta(max_length=MAX_NOTE_BYTES)]
    agent: AgentId | None = None
    date: Word | None = None
    key: (
        Annotated[
            str, matching(KEY_PATTERN, MAX_ENTRY_KEY_CHARS, "1 to 128 of the characters A-Z a-z 0-9 . _ : -")
        ]
        | None
    ) = None


class AppendNoteReply(Record, frozen=True):
    """The lines of the entry; `appended` is false if it was there already.

    Attributes:
        agent: The agent's id.
        path: Path relative to the workspace, as in a hit.
        start_line: First line.
        end_line: Last line.
        appended: False: the entry with this key existed.
    """

    agent: str
    path: str
    start_line: int
    end_line: int
    appended: bool
