"""Facts of an agent: storing, recalling, editing and forgetting them, and capturing them from a conversation.

All times are epoch milliseconds, lines count from 1. Importances and scores are from 0 to 1.
"""

from __future__ import annotations

from memd_client.record import Any, field, record

CATEGORIES = ("preference", "fact", "decision", "entity", "other")
"""The categories of facts."""


@record
class MemoryStoreParams:
    """A fact to store.

    Attributes:
        text: One fact, 1 to 4,000 characters; becomes one line.
        agent: The agent's id; None: the default agent.
        importance: 0 to 1; None: 0.7.
        category: `preference`, `fact`, `decision`, `entity` or `other`; None: derived from the text.
        id: For a fact from elsewhere: 1 to 64 letters, digits, `-`, `_`; None: a new one.
        created_ms: For a fact from elsewhere, epoch ms; None: now.
        vector: A vector of the text, little-endian float32.
        vector_model: The model of `vector`, which is used if the agent's provider has this model.
    """

    text: str
    agent: str | None = None
    importance: float | None = None
    category: str | None = None
    id: str | None = None
    created_ms: int | None = None
    vector: bytes | None = None
    vector_model: str = ""


@record
class FactRow:
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
    """

    id: str
    text: str
    importance: float
    category: str
    created_ms: int | None
    score: float
    path: str
    line: int


@record
class MemoryStoreReply:
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


@record
class MemoryRecallParams:
    """A query to the facts; a blank one lists them, newest first.

    Attributes:
        query: Any text; the first 2,000 characters count. Blank: list all facts, newest first.
        agent: The agent's id; None: the default agent.
        limit: 1 to 10,000.
        min_score: 0 to 1.
    """

    query: str
    agent: str | None = None
    limit: int = 5
    min_score: float = 0.3


@record
class MemoryRecallReply:
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


@record
class FactsParams:
    """Which facts to list, newest first: `limit` from `offset` on.

    Attributes:
        agent: The agent's id; None: the default agent.
        offset: How many of the newest to omit.
        limit: 1 to 1,000.
    """

    agent: str | None = None
    offset: int = 0
    limit: int = 200


@record
class FactsReply:
    """Facts, newest first; their `score` is 0. `total` counts all facts.

    Attributes:
        agent: The agent's id.
        facts: Facts, newest first; their `score` is 0.
        total: Number of all, in all pages.
    """

    agent: str
    facts: list[FactRow]
    total: int


@record
class MemoryEditParams:
    """A fact and its new text.

    Attributes:
        id: The fact.
        text: Its new text, 1 to 4,000 characters; becomes one line.
        agent: The agent's id; None: the default agent.
        expected_text: The text that the caller knows; if it differs from the file's, the error is `fact_changed`.
        importance: 0 to 1; None: unchanged.
        category: As in `memory_store`; None: unchanged.
    """

    id: str
    text: str
    agent: str | None = None
    expected_text: str | None = None
    importance: float | None = None
    category: str | None = None


@record
class MemoryEditReply:
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


@record
class MemoryForgetParams:
    """Which fact to forget: the one with an id, or the only clear match of a query.

    Attributes:
        id: This fact.
        query: The fact that this text clearly means.
        agent: The agent's id; None: the default agent.
    """

    id: str | None = None
    query: str | None = None
    agent: str | None = None


@record
class MemoryForgetReply:
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


@record
class FactsForPromptParams:
    """A prompt to find facts for; `force` overrides the setting `autoRecall`.

    Attributes:
        prompt: What the user says. Channel headers and injected blocks in its first 200,000 characters are removed; of
            the rest the first 2,000 count.
        agent: The agent's id; None: the default agent.
        force: Also if the setting `autoRecall` is off.
    """

    prompt: str
    agent: str | None = None
    force: bool = False


@record
class FactsForPromptReply:
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


@record
class CaptureFactsParams:
    """Messages of a conversation, each with `role` and `content`; `force` overrides the setting `autoCapture`.

    Attributes:
        messages: At most 1,000 maps with `role` and `content`: a text, or a list of parts (parts of type `text` count).
        agent: The agent's id; None: the default agent.
        force: Also if the setting `autoCapture` is off.
    """

    messages: list[dict[str, Any]]
    agent: str | None = None
    force: bool = False


@record
class CapturedMessage:
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


@record
class SkippedMessage:
    """A message not stored as a fact, and why; `duplicate_of` is the fact with the same content.

    Attributes:
        index: Position of the message in the request, from 0.
        reason: Why it was skipped.
        duplicate_of: Id of the fact that says the same, or None.
    """

    index: int
    reason: str
    duplicate_of: str | None = None


@record
class CaptureFactsReply:
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
