"""Requests that write notes: the note of an ended session, and entries of a daily note.

All paths are relative to the agent's workspace; line numbers start at 1 and ranges are inclusive.
"""

from __future__ import annotations

from memd_client.record import record


@record
class SessionEndedParams:
    """A session ended by `/new` or `/reset`: the end of its conversation is kept as a note.

    `session_id` or `transcript` (a file in the agent's sessions folder) selects the conversation; without both, the
    newest is used. `slug` is the name of the note; without it, a model or the words of the conversation name it.
    `channel` is the channel of the conversation. `reason` is `new` or `reset`. `next_session_id` is the session that
    follows; the same id means that the transcript continues, and that the conversation ended at its last reset.
    `ended_ms` is when it ended (Unix time in milliseconds; None: now), for a request that is sent later.
    `private` writes the note to `memory/sessions/`, labelled with `session_key`: OpenClaw's plugin shows it only to
    sessions that may see the conversation itself.
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

    `slug_from` is the origin of the note's name: `caller`, `model`, `words` (of the conversation) or `time`. `reason`
    is `written`, `known` (the same note exists already), or why there is no note: `off` (in the settings),
    `no_transcript`, `nothing_said`.
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

    A `key` makes the request repeatable: an entry with a key that the note has is not appended again.
    """

    text: str
    agent: str | None = None
    date: str | None = None
    key: str | None = None


@record
class AppendNoteReply:
    """The lines of the entry; `appended` is false if it was there already."""

    agent: str
    path: str
    start_line: int
    end_line: int
    appended: bool
