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

    `importance` defaults to 0.7; `category` defaults to one derived from the text. `id` and `created_ms` are for facts
    of another program: a fact whose id exists is not stored again. `vector` is the text's vector by `vector_model`
    (packed little-endian float32): it is used if the agent's provider has that model.
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
    """A fact. `created_ms` is None if its line has no date, as in a line written by hand."""

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

    `id`, `category`, `path` and `line` are of the stored fact or of its duplicate, whose id is `duplicate_of` and whose
    text is `duplicate_text`. `compared` is `vectors`, `words` (without vectors, only a text of the same words is a
    duplicate) or `id`; `reason` is the code of why there were no vectors. `vector_used`: the given vector was used.
    `supersedes` is the earlier fact about the same subject with another value, if there is one; it stays.
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
    """A query to the facts; a blank one lists them, newest first."""

    query: str
    agent: str | None = None
    limit: int = 5
    min_score: float = 0.3


@record
class MemoryRecallReply:
    """Facts, best first.

    `compared` is `vectors`, `words` (`reason` is the code of why there were no vectors), or `none` for a list.
    `without_vectors` counts facts without a vector yet, which were compared by their terms. `total` counts all facts.
    """

    agent: str
    facts: list[FactRow]
    compared: str
    total: int
    without_vectors: int = 0
    reason: str = ""


@record
class FactsParams:
    """Which facts to list, newest first: `limit` from `offset` on."""

    agent: str | None = None
    offset: int = 0
    limit: int = 200


@record
class FactsReply:
    """Facts, newest first; their `score` is 0. `total` counts all facts."""

    agent: str
    facts: list[FactRow]
    total: int


@record
class MemoryEditParams:
    """A fact and its new text.

    `expected_text` is the text the caller expects: if the fact's text differs, nothing is changed. `importance` and
    `category` default to the present ones.
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
    """Which fact to forget: the one with an id, or the only clear match of a query."""

    id: str | None = None
    query: str | None = None
    agent: str | None = None


@record
class MemoryForgetReply:
    """The forgotten fact, or None. `candidates` are the facts that an ambiguous query matches."""

    agent: str
    forgotten: FactRow | None
    candidates: list[FactRow] = field(default_factory=list)
    compared: str = "id"


@record
class FactsForPromptParams:
    """A prompt to find facts for; `force` overrides the setting `autoRecall`."""

    prompt: str
    agent: str | None = None
    force: bool = False


@record
class FactsForPromptReply:
    """A block to put before the prompt, and the facts in it.

    If `text` is empty, `reason` is `off`, `blank` (the prompt is), `no_facts` or `nothing_near`.
    """

    agent: str
    text: str
    reason: str = ""
    facts: list[FactRow] = field(default_factory=list)


@record
class CaptureFactsParams:
    """Messages of a conversation, each with `role` and `content`; `force` overrides the setting `autoCapture`."""

    messages: list[dict[str, Any]]
    agent: str | None = None
    force: bool = False


@record
class CapturedMessage:
    """A message stored as a fact; `index` is its position in the request, from 0."""

    index: int
    id: str
    text: str
    category: str
    path: str
    line: int


@record
class SkippedMessage:
    """A message not stored as a fact, and why; `duplicate_of` is the fact with the same content."""

    index: int
    reason: str
    duplicate_of: str | None = None


@record
class CaptureFactsReply:
    """The messages stored as facts, and the others with reasons. `reason` is `off` if no message was examined."""

    agent: str
    stored: list[CapturedMessage]
    skipped: list[SkippedMessage]
    reason: str = ""
