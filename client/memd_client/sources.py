"""Requests about sources of other programs and the conversations in them."""

from __future__ import annotations

from memd_client.record import field, record
from memd_client.reports import Degradation, SourceStatus


@record
class SessionInfo:
    """The conversation that a hit is from.

    `program` is its source. `date` (YYYY-MM-DD) is that of the hit's last line, `speakers` says who speaks in the hit.
    `open` is the command that opens the session in its program, empty without one. `deleted`: the program deleted the
    session, and memd kept a copy.
    """

    program: str
    id: str
    title: str = ""
    project: str = ""
    branch: str = ""
    date: str = ""
    speakers: list[str] = field(default_factory=list)
    open: str = ""
    deleted: bool = False


@record
class SourcesParams:
    """What to do with sources: `list` them, or `forget` kept copies of deleted conversations.

    `name` is the source to forget copies of, `session` one session of it (empty: all).
    """

    action: str = "list"
    name: str = ""
    session: str = ""
    agent: str | None = None


@record
class SourcesReply:
    """Sources, or the result of `forget`.

    `sources` are those of agents, `found` those on this machine that no agent has. Of `removed` ones only copies of
    conversations remain. `forgotten` is the number of deleted copies.
    """

    sources: list[SourceStatus] = field(default_factory=list)
    found: list[SourceStatus] = field(default_factory=list)
    forgotten: int = 0
    removed: list[SourceStatus] = field(default_factory=list)


@record
class ConversationSearchParams:
    """A query to the conversations of one agent. The parameters are those of `SearchParams`.

    `max_results` limits the sessions. `exclude_session` is the id or key of the calling session.
    """

    query: str
    agent: str | None = None
    max_results: int | None = None
    sources: list[str] | None = None
    project: str | None = None
    since: str | None = None
    exclude_session: str | None = None
    deadline_ms: int | None = None


@record
class Excerpt:
    """Lines of a conversation that match; `line` is the place of the best one, for `conversation_read`."""

    line: int
    text: str
    date: str
    score: float


@record
class FoundConversation:
    """A session with the lines that match best; `path` is its path in the index."""

    session: SessionInfo
    path: str
    score: float
    relevance: str
    excerpts: list[Excerpt]


@record
class ConversationSearchReply:
    """Sessions, best first. `partial`: changes of the last moment are not included."""

    agent: str
    conversations: list[FoundConversation]
    took_ms: float
    mode: str
    degraded: Degradation | None = None
    partial: bool = False


@record
class ConversationReadParams:
    """Which messages of a session to return.

    `session` is its id, or its path in the index. Messages around the place `line` are returned, or from message
    `first` (from 1); without either the last ones.
    """

    session: str
    agent: str | None = None
    line: int | None = None
    first: int | None = None
    messages: int = 20


@record
class SessionMessage:
    """One message on one line: its number in the session from 1, its place in the transcript, and who says it.

    `time_ms` is None if unknown.
    """

    number: int
    line: int
    speaker: str
    text: str
    time_ms: int | None = None


@record
class ConversationReadReply:
    """Messages of a session, in order; `total` counts all of them."""

    agent: str
    path: str
    session: SessionInfo
    messages: list[SessionMessage]
    total: int
