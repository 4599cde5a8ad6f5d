"""Requests about sources of other programs and the conversations in them."""

from __future__ import annotations

from memd_client.agent_parts import SourceStatus
from memd_client.problems import Degradation
from memd_client.record import field, record


@record
class SessionInfo:
    """The conversation that a hit is from.

    Attributes:
        program: Name of the source.
        id: The program's id of the session.
        title: Title, or empty.
        project: Root of the repository, or working directory.
        branch: Branch of the repository, or empty.
        date: Day (UTC) of the last line of the hit, YYYY-MM-DD.
        speakers: Who speaks in the hit: `user`, `assistant`.
        open: Shell command that opens the session in its program, from any folder, or empty.
        deleted: The program deleted the session; memd kept a copy.
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

    Attributes:
        action: `list` or `forget`.
        name: With `forget`, the source.
        session: With `forget`, one session, by its id or the beginning of it; empty: all.
        agent: One agent; None: all.
    """

    action: str = "list"
    name: str = ""
    session: str = ""
    agent: str | None = None


@record
class SourcesReply:
    """Sources, or the result of `forget`.

    Of `removed` ones only copies of conversations remain.

    Attributes:
        sources: Sources of agents.
        found: Sources on this machine that no agent has.
        forgotten: Copies deleted.
        removed: Sources that were removed from their agent, but whose copies of conversations remain: `kept` of them in
            the folder in `locations`.
    """

    sources: list[SourceStatus] = field(default_factory=list)
    found: list[SourceStatus] = field(default_factory=list)
    forgotten: int = 0
    removed: list[SourceStatus] = field(default_factory=list)


@record
class ConversationSearchParams:
    """A query to the conversations of one agent. The parameters are those of `SearchParams`.

    Attributes:
        query: As in `search`.
        agent: The agent's id; None: the default agent.
        max_results: Sessions, 1 to 50; None: 5.
        sources: These sources of transcripts only; None: all.
        project: As in `search`.
        since: As in `search`.
        exclude_session: As in `search`.
        deadline_ms: As in `search`.
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
    """Lines of a conversation that match; `line` is the place of the best one, for `conversation_read`.

    Attributes:
        line: Place of the line that matches best, for `conversation_read`.
        text: The lines, `User: …` and `Assistant: …`.
        date: Day of the last line, or empty.
        score: 0 to 1.
    """

    line: int
    text: str
    date: str
    score: float


@record
class FoundConversation:
    """A session with the lines that match best; `path` is its path in the index.

    Attributes:
        session: The session.
        path: Its path in the index, for `conversation_read`.
        score: 0 to 1: that of its best lines.
        relevance: `strong` or `weak`.
        excerpts: Its best lines, at most three.
    """

    session: SessionInfo
    path: str
    score: float
    relevance: str
    excerpts: list[Excerpt]


@record
class ConversationSearchReply:
    """Sessions, best first. `partial`: changes of the last moment are not included.

    Attributes:
        agent: The agent searched.
        conversations: Sessions, best first.
        took_ms: Duration in ms.
        mode: As in the reply to `search`.
        degraded: As in the reply to `search`.
        partial: As in the reply to `search`.
    """

    agent: str
    conversations: list[FoundConversation]
    took_ms: float
    mode: str
    degraded: Degradation | None = None
    partial: bool = False


@record
class ConversationReadParams:
    """Which messages of a session to return.

    Messages around the place `line` are returned, or from message `first` (from 1); without either the last ones.

    Attributes:
        session: Id of the session, its path in the index, or a citation such as `codex/0199#L12-L18`: then messages
            around its first line.
        agent: The agent's id; None: the default agent.
        line: A place as in a hit's `start_line` or an excerpt's `line`.
        first: Number of the first message, from 1; without it and `line`: the last messages.
        messages: How many, 1 to 200.
    """

    session: str
    agent: str | None = None
    line: int | None = None
    first: int | None = None
    messages: int = 20


@record
class SessionMessage:
    """One message on one line: its number in the session from 1, its place in the transcript, and who says it.

    Attributes:
        number: Number in the session, from 1.
        line: Place in the transcript.
        speaker: `user` or `assistant`.
        text: The message on one line.
        time_ms: When it was said, epoch ms; None: unknown.
    """

    number: int
    line: int
    speaker: str
    text: str
    time_ms: int | None = None


@record
class ConversationReadReply:
    """Messages of a session, in order; `total` counts all of them.

    Attributes:
        agent: The agent's id.
        path: Its path in the index.
        session: The session.
        messages: Messages in order; fewer if they are long.
        total: Messages in the session.
    """

    agent: str
    path: str
    session: SessionInfo
    messages: list[SessionMessage]
    total: int
