"""Requests that write notes: the note of an ended session, and entries of a daily note.

All paths are relative to the agent's workspace; line numbers start at 1 and ranges are inclusive.
"""

from __future__ import annotations

from memd_client.record import record


@record
class SessionEndedParams:
    """A session ended by `/new` or `/reset`: the end of its conversation is kept as a note.

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
    """

    session_key: str
    agent: str | None = None
    session_id: str | None = None
    transcript: str | None = None
    slug: str | None = None
    channel: str | None = None
    reason: str = "new"
    next_session_id: str | None = None
    ended_ms: int | None = None
    private: bool = False


@record
class SessionEndedReply:
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


@record
class AppendNoteParams:
    """An entry for a daily note; `date` is YYYY-MM-DD and defaults to the user's today.

    Attributes:
        text: Markdown, 1 byte to 64 KiB.
        agent: The agent's id; None: the default agent.
        date: YYYY-MM-DD; None: today in the user's time zone.
        key: Makes repeating the request safe: 1 to 128 of `A-Z a-z 0-9 . _ : -`.
    """

    text: str
    agent: str | None = None
    date: str | None = None
    key: str | None = None


@record
class AppendNoteReply:
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
