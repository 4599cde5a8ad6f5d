"""Requests about sources of other programs and the conversations in them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from memd_client.agent_parts import SourceStatus
from memd_client.limits import (
    MAX_PATH_CHARS,
    AgentId,
    Count,
    Key,
    Milliseconds,
    Name,
    Origins,
    PageSize,
    Path,
    Position,
    Query,
    Since,
    SourceNames,
    Word,
    one_of,
)
from memd_client.problems import Degradation
from memd_client.schema import Record


class SessionInfo(Record, frozen=True):
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
        commands: Commands that the agent ran in it.
        files: Files that the agent changed in it.
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
    commands: int = 0
    files: int = 0


class SourcesParams(Record, frozen=True):
    """List the sources of other programs, or delete copies of deleted conversations.

    Attributes:
        action: `list`, or `delete_copies` to delete copies of deleted conversations for good.
        name: With `delete_copies`, the source.
        session: With `delete_copies`, one session, by its id or the beginning of it; empty: all.
        agent: The agent's id; None: all agents.

    Returns:
        `sources`, those of agents; `found`, those on this machine that no agent has; `deleted`, how many copies were
        deleted.

    Raises:
        AgentUnknownError: No agent has that id.
        BadParamsError: No agent has a source of that name.
        DaemonUnreachableError, ConnectionLostError: As with every request.
    """

    action: Annotated[str, one_of("list", "delete_copies")] = "list"
    name: Word = ""
    session: Key = ""
    agent: AgentId | None = None


class ConnectedProgram(Record, frozen=True):
    """A program that may be given memory by memd's hooks or MCP server, by the program's own settings.

    Attributes:
        program: Name of the program, such as `claude-code`.
        title: Its title.
        way: `hooks` or `mcp`.
        state: `installed`, `not installed`, `incomplete` (hooks of another release), `command missing` or `unreadable`.
        path: The program's settings file.
        agents: Agents whose memory it is given.
        problem: Why, if the state is `command missing` or `unreadable`.
    """

    program: str
    title: str
    way: str
    state: str
    path: str
    agents: list[str] = field(default_factory=list)
    problem: str = ""


class SourcesReply(Record, frozen=True):
    """Sources, or the result of `delete_copies`.

    Of `removed` ones only copies of conversations remain.

    Attributes:
        sources: Sources of agents.
        found: Sources on this machine that no agent has.
        deleted: Copies deleted.
        removed: Sources that were removed from their agent, but whose copies of conversations remain: `kept` of them in
            the folder in `locations`.
        excluded: Folders, and names of projects, that are never indexed: the setting `exclude`.
        programs: Programs on this machine that may be given memory by hooks or MCP.
    """

    sources: list[SourceStatus] = field(default_factory=list)
    found: list[SourceStatus] = field(default_factory=list)
    deleted: int = 0
    removed: list[SourceStatus] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)
    programs: list[ConnectedProgram] = field(default_factory=list)


class ConversationsParams(Record, frozen=True):
    """List an agent's indexed conversations, newest first, without subagents'.

    Attributes:
        agent: The agent's id; None: the default agent.
        sources: Only these sources of transcripts; None: all.
        project: Only conversations held in this project, by its name or path.
        since: Only conversations that went on after a day began (`2026-11-02`) or within a duration (`12h`, `7d`).
        until: Only conversations that began before the end of a day (`2026-11-30`), or before a duration (`7d`).
        title: Only conversations whose title has all of these words, in any case; empty: all.
        offset: How many of the newest to skip.
        limit: How many to list, 1 to 1,000.

    Returns:
        `conversations`, newest first; `total`, how many match; `sources` and `projects`, those of all conversations,
        the most recent first.

    Raises:
        AgentUnknownError: No agent has that id.
        MemoryDisabledError: The agent's settings turn memory off.
        BadParamsError: A parameter has the wrong type or is out of its range.
        DaemonUnreachableError, ConnectionLostError: As with every request.
    """

    agent: AgentId | None = None
    sources: SourceNames | None = None
    project: Path | None = None
    since: Since | None = None
    until: Since | None = None
    title: Query = ""
    offset: Count = 0
    limit: PageSize = 100


class ListedConversation(Record, frozen=True):
    """An indexed conversation.

    Attributes:
        path: Its path in the index, for `conversation_read`.
        session: The session.
        messages: Messages in it.
        started_ms: Time of its first record, epoch ms; None: unknown.
        updated_ms: Time of its last record, or of the last change of its file, epoch ms.
    """

    path: str
    session: SessionInfo
    messages: int
    started_ms: int | None
    updated_ms: int


class ConversationGroup(Record, frozen=True):
    """The conversations of a source or project.

    Attributes:
        name: Name of the source, or path of the project.
        title: Title of the program, or name of the project's folder.
        conversations: Number of conversations.
        newest_ms: Time of the last one, epoch ms.
    """

    name: str
    title: str
    conversations: int
    newest_ms: int


class ConversationsReply(Record, frozen=True):
    """Conversations, newest first. `total` counts all that match.

    Attributes:
        agent: The agent's id.
        conversations: Conversations, newest first.
        total: Number of all that match, in all pages.
        sources: Sources of all conversations of the agent, the most recent first.
        projects: Their projects, the most recent first, at most 500.
        oldest_ms: Time of the oldest conversation of the agent, epoch ms; None: there is none.
    """

    agent: str
    conversations: list[ListedConversation]
    total: int
    sources: list[ConversationGroup] = field(default_factory=list)
    projects: list[ConversationGroup] = field(default_factory=list)
    oldest_ms: int | None = None


class ConversationSearchParams(Record, frozen=True):
    """Search conversations of all programs and return sessions with their best lines.

    Attributes:
        query: What to search for, as in `search`.
        agent: The agent's id; None: the default agent.
        max_results: The most sessions, 1 to 50; None: 5.
        sources: Only these sources of transcripts; None: all.
        project: As in `search`.
        since: As in `search`.
        exclude_session: As in `search`.
        deadline_ms: As in `search`.
        caller: As in `search`.
        origins: As in `search`.

    Returns:
        `conversations`, best first, each with `session`, `path`, `score`, `relevance` and `excerpts`.

    Raises:
        QueryEmptyError: The query has no text.
        AgentUnknownError: No agent has that id.
        DeadlineExceededError: The deadline passed.
        DaemonUnreachableError, ConnectionLostError: As with every request.
    """

    query: Query
    agent: AgentId | None = None
    max_results: Annotated[int, Meta(ge=1, le=50)] | None = None
    sources: SourceNames | None = None
    project: Path | None = None
    since: Since | None = None
    exclude_session: Key | None = None
    deadline_ms: Milliseconds | None = None
    caller: Name = ""
    origins: Origins | None = None


class Excerpt(Record, frozen=True):
    """Lines of a conversation that match; `line` is the place of the best one, for `conversation_read`.

    Attributes:
        line: Place of the line that matches best, for `conversation_read`.
        text: The lines, `User: …` and `Assistant: …`.
        date: Day of the last line, or empty.
        score: 0 to 1.
        origin: Whose words the lines are, as in a hit; of several the least trusted.
        origin_reason: Why they are `outside`; empty if they are not.
    """

    line: int
    text: str
    date: str
    score: float
    origin: str = "agent"
    origin_reason: str = ""


class FoundConversation(Record, frozen=True):
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


class ConversationSearchReply(Record, frozen=True):
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


class ConversationReadParams(Record, frozen=True):
    """Return messages of a session, as they are on disk now, without secrets.

    Messages around the place `line` are returned, or from message `first` (from 1); without either the last ones.

    Attributes:
        session: Id of the session, its path in the index, or a citation such as `codex/0199#L12-L18`: then messages
            around its first line.
        agent: The agent's id; None: the default agent.
        line: A place as in a hit's `start_line` or an excerpt's `line`.
        first: Number of the first message, from 1; without it and `line`: the last messages.
        messages: The most messages, 1 to 200.

    Returns:
        `messages`, each with `number`, `line`, `speaker`, `text` and `time_ms`; `total`; and the `session`.

    Raises:
        FileMissingError: No session of the agent has that id.
        AgentUnknownError: No agent has that id.
        DaemonUnreachableError, ConnectionLostError: As with every request.
    """

    session: Annotated[str, Meta(max_length=MAX_PATH_CHARS)]
    agent: AgentId | None = None
    line: Position | None = None
    first: Position | None = None
    messages: Annotated[int, Meta(ge=1, le=200)] = 20


class SessionMessage(Record, frozen=True):
    """One message on one line: its number in the session from 1, its place in the transcript, and who says it.

    Attributes:
        number: Number in the session, from 1.
        line: Place in the transcript.
        speaker: `user` or `assistant`.
        text: The message on one line.
        time_ms: When it was said, epoch ms; None: unknown.
        origin: Whose words it is, as in a hit.
        origin_reason: Why it is `outside`; empty if it is not.
    """

    number: int
    line: int
    speaker: str
    text: str
    time_ms: int | None = None
    origin: str = "agent"
    origin_reason: str = ""


class ConversationReadReply(Record, frozen=True):
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


class SessionHandoffParams(Record, frozen=True):
    """Return a digest of a session, with which another program can continue it.

    Reading a digest changes nothing, so it can be read again, and by several programs.

    Attributes:
        session: Id of the session or the beginning of its id, or its path in the index; empty: the newest session of
            `project` that has a request and an answer.
        project: Name of the project's folder, or a path in it; worktrees of a repository are one project. Empty: any.
        to: Name of the program that continues, for `start`; empty: none.
        agent: The agent's id; None: the default agent and `shared`.
        exclude_session: Id of a session that isn't chosen: the one that asks.

    Returns:
        `text`, the digest, and `start`, the command that starts the other program with it.

    Raises:
        FileMissingError: No session has that id, or no session of the project has a request and an answer.
        BadParamsError: Several sessions have ids that begin with `session`; the hint lists them. Or `to` is no program
            that can be started with a prompt.
        AgentUnknownError: No agent has that id.
        DaemonUnreachableError, ConnectionLostError: As with every request.
    """

    session: Annotated[str, Meta(max_length=MAX_PATH_CHARS)] = ""
    project: Path = ""
    to: Word = ""
    agent: AgentId | None = None
    exclude_session: Key = ""


class SessionHandoffReply(Record, frozen=True):
    """A digest of a session, without secrets.

    Attributes:
        agent: The agent whose memory has the session.
        path: Path of the session in the index.
        session: The session.
        text: The digest as Markdown, at most 6,000 characters.
        start: Shell command that starts the program `to` with the digest; empty without `to`.
    """

    agent: str
    path: str
    session: SessionInfo
    text: str
    start: str = ""
