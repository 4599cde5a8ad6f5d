"""Facts of an agent: storing, recalling, editing and forgetting them, and capturing them from a conversation.

All times are epoch milliseconds, lines count from 1. Importances and scores are from 0 to 1.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from memd_client.limits import (
    ID_PATTERN,
    MAX_FACT_CHARS,
    MAX_ID_CHARS,
    MAX_PATH_CHARS,
    AgentId,
    Category,
    Count,
    Fact,
    FactId,
    Messages,
    Moment,
    PageSize,
    Prompt,
    Query,
    Share,
    Vector,
    matching,
)
from memd_client.schema import Record


class MemoryStoreParams(Record, frozen=True):
    """Store a fact in `memory/facts.md`, unless it duplicates an existing fact.

    Attributes:
        text: One fact, 1 to 4,000 characters; it becomes one line.
        agent: The agent's id; None: the default agent.
        importance: 0 to 1; None: 0.7.
        category: `preference`, `fact`, `decision`, `entity` or `other`; None: derived from the text.
        id: The fact's id in another program, 1 to 64 letters, digits, `-`, `_`; an existing one is not stored again.
            None: a new one.
        created_ms: When it was created, epoch ms; None: now.
        vector: A vector of the text, little-endian float32.
        vector_model: The model of `vector`, which is used if the agent's provider has this model.

    Returns:
        `stored`, and `id`, `category`, `path` and `line` of the fact; if `stored` is false, of its duplicate, with
        `duplicate_of` and `duplicate_text`. `compared` is `vectors`, `words` or `id`.

    Raises:
        AgentUnknownError: No agent has that id.
        MemoryDisabledError: The agent's settings turn memory off.
        NoteUnwritableError: The file can't be written; nothing was written.
        PathRefusedError, FileUnreadableError: The file of facts is a symbolic link or not a text file.
        BadParamsError: A parameter is out of its range, or the text has no word.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request. Without an
            `id` the request is not sent a second time after the connection broke.
    """

    text: Fact
    agent: AgentId | None = None
    importance: Share | None = None
    category: Category | None = None
    id: (
        Annotated[str, matching(ID_PATTERN, MAX_ID_CHARS, "1 to 64 letters, digits, hyphens or underscores")]
        | None
    ) = None
    created_ms: Moment | None = None
    vector: Vector | None = None
    vector_model: Annotated[str, Meta(max_length=MAX_PATH_CHARS)] = ""


class FactRow(Record, frozen=True):
    """A fact. `created_ms` is None if its line has no date, as in a line written by hand.

    Attributes:
        id: Id of the fact.
        text: The fact.
        importance: 0 to 1.
        category: `preference`, `fact`, `decision`, `entity` or `other`.
        created_ms: When it was stored, epoch ms; None: not known.
        score: 0 to 1; 0 in a list.
        path: Path relative to the workspace, as in a hit.
        line: Its line.
        origin: Whose words it is, as in a hit.
        origin_reason: Why it is `outside`; empty if it is not.
    """

    id: str
    text: str
    importance: float
    category: str
    created_ms: int | None
    score: float
    path: str
    line: int
    origin: str = "agent"
    origin_reason: str = ""


class MemoryStoreReply(Record, frozen=True):
    """The stored fact, or (`stored` is false) the existing fact that duplicates it.

    Attributes:
        agent: The agent's id.
        id: Of the fact, or of its duplicate.
        stored: False: there is a duplicate.
        category: Of the fact, or of its duplicate.
        path: File of the fact, or of its duplicate.
        line: Line of the fact, or of its duplicate.
        compared: What was compared: `vectors`, `words` or `id`.
        duplicate_of: Id of the duplicate, or None.
        duplicate_text: Text of the duplicate, or empty.
        similarity: Cosine of the duplicate, or None.
        reason: Error code of the missing vectors, or empty.
        vector_used: `vector` was used.
        supersedes: The earlier fact about the same subject with another value, or None.
        origin: Whose words the duplicate is, as in a hit.
        origin_reason: Why it is `outside`; empty if it is not.
    """

    agent: str
    id: str
    stored: bool
    category: str
    path: str
    line: int
    compared: str
    duplicate_of: str | None = None
    duplicate_text: str = ""
    similarity: float | None = None
    reason: str = ""
    vector_used: bool = False
    supersedes: FactRow | None = None
    origin: str = "agent"
    origin_reason: str = ""


class MemoryRecallParams(Record, frozen=True):
    """Return the facts nearest to a query, best first.

    Attributes:
        query: Any text; the first 2,000 characters count. Blank: list all facts, newest first.
        agent: The agent's id; None: the default agent.
        limit: The most facts, 1 to 10,000.
        min_score: Leave out facts with a lower score, 0 to 1.

    Returns:
        `facts` (each with `id`, `text`, `importance`, `category`, `score` from 0 to 1, `path`, `line`), `total`
        (the number of all facts) and `compared`: `vectors`, `words` or `none`.

    Raises:
        AgentUnknownError: No agent has that id.
        MemoryDisabledError: The agent's settings turn memory off.
        PathRefusedError, FileUnreadableError: The file of facts is a symbolic link, or can't be read.
        BadParamsError: A parameter is out of its range.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
    """

    query: Query
    agent: AgentId | None = None
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 5
    min_score: Share = 0.3


class MemoryRecallReply(Record, frozen=True):
    """Facts, best first.

    Attributes:
        agent: The agent's id.
        facts: Facts, best first.
        compared: `vectors`, `words`, or `none` for a list.
        total: Number of facts.
        without_vectors: Facts without a vector yet, compared by their words; a later recall has their vectors.
        reason: Error code of the missing vectors, or empty.
    """

    agent: str
    facts: list[FactRow]
    compared: str
    total: int
    without_vectors: int = 0
    reason: str = ""


class FactsParams(Record, frozen=True):
    """List the facts of an agent, newest first.

    Attributes:
        agent: The agent's id; None: the default agent.
        offset: How many of the newest to skip.
        limit: How many to list, 1 to 1,000.

    Returns:
        `facts` as in `memory_recall`, with a `score` of 0, and `total`: the number of all facts.

    Raises:
        AgentUnknownError: No agent has that id.
        MemoryDisabledError: The agent's settings turn memory off.
        PathRefusedError, FileUnreadableError: The file of facts is a symbolic link, or can't be read.
        BadParamsError: A parameter is out of its range.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
    """

    agent: AgentId | None = None
    offset: Count = 0
    limit: PageSize = 200


class FactsReply(Record, frozen=True):
    """Facts, newest first; their `score` is 0. `total` counts all facts.

    Attributes:
        agent: The agent's id.
        facts: Facts, newest first; their `score` is 0.
        total: Number of all, in all pages.
    """

    agent: str
    facts: list[FactRow]
    total: int


class MemoryEditParams(Record, frozen=True):
    """Change the text of a fact, on its line; all other lines stay unchanged.

    Attributes:
        id: The fact's id.
        text: Its new text, 1 to 4,000 characters; it becomes one line.
        agent: The agent's id; None: the default agent.
        expected_text: The text that the caller knows; if it differs from the file's, the error is `fact_changed`.
        importance: 0 to 1; None: unchanged.
        category: As in `memory_store`; None: unchanged.

    Returns:
        `stored`, and `id`, `category`, `path` and `line` of the fact. If `stored` is false, another fact has the
        same content (`duplicate_of`, `duplicate_text`) and nothing was changed.

    Raises:
        FactMissingError: No fact has that id.
        FactChangedError: The fact's text is not `was`.
        AgentUnknownError: No agent has that id.
        MemoryDisabledError: The agent's settings turn memory off.
        NoteUnwritableError: The file can't be written; nothing was written.
        PathRefusedError, FileUnreadableError: The file of facts is a symbolic link, or can't be read.
        BadParamsError: A parameter is out of its range, or the text has no word.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request. The request is
            not sent a second time after the connection broke.
    """

    id: Annotated[FactId, Meta(extra={"filled": True})]
    text: Fact
    agent: AgentId | None = None
    expected_text: Annotated[str, Meta(max_length=MAX_FACT_CHARS)] | None = None
    importance: Share | None = None
    category: Category | None = None


class MemoryEditReply(Record, frozen=True):
    """The edited fact; its `id` changes if it was derived from the text.

    If `stored` is false, another fact, `duplicate_of`, has the same content in `duplicate_text`, and nothing was
    changed; `id`, `category`, `path` and `line` are of the unchanged fact.

    Attributes:
        agent: The agent's id.
        id: Id of the fact after the edit.
        stored: False: another fact has the same words, and nothing was changed. Vectors are not compared.
        category: Of the fact.
        path: File of the fact.
        line: Line of the fact.
        duplicate_of: Id of the fact with the same words, or None.
        duplicate_text: Its text, or empty.
    """

    agent: str
    id: str
    stored: bool
    category: str
    path: str
    line: int
    duplicate_of: str | None = None
    duplicate_text: str = ""


class MemoryForgetParams(Record, frozen=True):
    """Remove a fact: the one with an id, or the only clear match of a query.

    Attributes:
        id: The fact's id.
        query: A text that clearly means one fact; give either this or `id`.
        agent: The agent's id; None: the default agent.

    Returns:
        `forgotten`: the fact, or None. If None, `candidates` are the facts the query matches, at most five.

    Raises:
        AgentUnknownError: No agent has that id.
        MemoryDisabledError: The agent's settings turn memory off.
        NoteUnwritableError: The file can't be written; nothing was written.
        PathRefusedError, FileUnreadableError: The file of facts is a symbolic link, or can't be read.
        BadParamsError: Neither or both of `id` and `query` were given.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request. The request is
            not sent a second time after the connection broke.
    """

    id: FactId | None = None
    query: Query | None = None
    agent: AgentId | None = None


class MemoryForgetReply(Record, frozen=True):
    """The forgotten fact, or None. `candidates` are the facts that an ambiguous query matches.

    Attributes:
        agent: The agent's id.
        forgotten: The fact removed, or None.
        candidates: If none was removed, up to five facts that `query` may mean.
        compared: `vectors`, `words` or `id`.
    """

    agent: str
    forgotten: FactRow | None
    candidates: list[FactRow] = field(default_factory=list)
    compared: str = "id"


class FactsForPromptParams(Record, frozen=True):
    """Return the facts nearest to a prompt, as a block of text to put before it.

    Attributes:
        prompt: The user's message. Channel headers and injected blocks in its first 200,000 characters are removed; of
            the rest the first 2,000 count.
        agent: The agent's id; None: the default agent.
        force: Recall facts even if the setting `autoRecall` is off.

    Returns:
        `text`, marked as data and escaped, and its `facts`. If it is empty, `reason` is `off`, `blank`, `no_facts`
        or `nothing_near`.

    Raises:
        AgentUnknownError: No agent has that id.
        MemoryDisabledError: The agent's settings turn memory off.
        PathRefusedError, FileUnreadableError: The file of facts is a symbolic link, or can't be read.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
    """

    prompt: Prompt
    agent: AgentId | None = None
    force: bool = False


class FactsForPromptReply(Record, frozen=True):
    """A block to put before the prompt, and the facts in it.

    If `text` is empty, `reason` is `off`, `blank` (the prompt is), `no_facts` or `nothing_near`.

    Attributes:
        agent: The agent's id.
        text: The block, or empty.
        reason: Why it is empty: `off`, `blank`, `no_facts` or `nothing_near`.
        facts: The facts in the block.
    """

    agent: str
    text: str
    reason: str = ""
    facts: list[FactRow] = field(default_factory=list)


class CaptureFactsParams(Record, frozen=True):
    """Store lasting statements of the user as facts, at most three per request.

    Attributes:
        messages: At most 1,000 maps with `role` and `content`: a text, or a list of parts (parts of type `text` count).
        agent: The agent's id; None: the default agent.
        force: Capture facts even if the setting `autoCapture` is off.

    Returns:
        `stored` (each with the `index` of its message, from 0, and the fact), `skipped` (each with `index` and
        `reason`), and `reason`: `off` if no message was examined.

    Raises:
        AgentUnknownError: No agent has that id.
        MemoryDisabledError: The agent's settings turn memory off.
        NoteUnwritableError: The file can't be written; nothing was written.
        PathRefusedError, FileUnreadableError: The file of facts is a symbolic link, or can't be read.
        BadParamsError: A parameter is wrong.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
    """

    messages: Messages
    agent: AgentId | None = None
    force: bool = False


class CapturedMessage(Record, frozen=True):
    """A message stored as a fact; `index` is its position in the request, from 0.

    Attributes:
        index: Position of the message in the request, from 0.
        id: Id of the fact.
        text: Text of the fact.
        category: Category of the fact.
        path: File of the fact.
        line: Line of the fact.
    """

    index: int
    id: str
    text: str
    category: str
    path: str
    line: int


class SkippedMessage(Record, frozen=True):
    """A message not stored as a fact, and why; `duplicate_of` is the fact with the same content.

    Attributes:
        index: Position of the message in the request, from 0.
        reason: Why it was skipped.
        duplicate_of: Id of the fact that says the same, or None.
    """

    index: int
    reason: str
    duplicate_of: str | None = None


class CaptureFactsReply(Record, frozen=True):
    """The messages stored as facts, and the others with reasons. `reason` is `off` if no message was examined.

    Attributes:
        agent: The agent's id.
        stored: Messages stored as facts.
        skipped: Messages skipped.
        reason: `off`: the setting is off; else empty.
    """

    agent: str
    stored: list[CapturedMessage]
    skipped: list[SkippedMessage]
    reason: str = ""
