"""What is written down for an agent: the note a session leaves when it ends, and entries of a day's note.

All paths are relative to the agent's workspace, line numbers start at 1 and ranges are inclusive.
"""

from __future__ import annotations

from memd_client.record import record


@record
class SessionEndedParams:
    """A session has just ended, by `/new` or `/reset`: what was said last is kept as a note.

    `session_id` or `transcript` (a file in the agent's folder of sessions) say which conversation it was; without
    both the newest is taken. `slug` names the note; without one it is named by a model or by what was talked about.
    `source` is where the conversation took place. `reason` is `new` or `reset`. `next_session_id` is the session that
    follows; the same id says that the transcript goes on, and that the conversation ended at its last reset.
    """

    session_key: str
    agent: str | None = None
    session_id: str | None = None
    transcript: str | None = None
    slug: str | None = None
    source: str | None = None
    reason: str = "new"
    next_session_id: str | None = None


@record
class SessionEndedReply:
    """The note, of `messages` messages; an empty `path` where there is none.

    `slug_from` says what the note was named by: `caller`, `model`, `words` (of the conversation) or `time`. `reason`
    is `written`, `known` (a note of just this stood there already), or why there is no note: `off` (in the settings),
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
    """Something to keep in the note of a day; `date` is YYYY-MM-DD, the user's today where it is left out.

    A `key` makes it safe to ask twice: what was appended with it once is not appended again.
    """

    text: str
    agent: str | None = None
    date: str | None = None
    key: str | None = None


@record
class AppendNoteReply:
    """Where it stands; `appended` is false where it stood there already."""

    agent: str
    path: str
    start_line: int
    end_line: int
    appended: bool
