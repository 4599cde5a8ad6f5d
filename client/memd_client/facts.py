"""Single facts an agent keeps: stored, recalled, forgotten, put before a prompt, and captured from a conversation.

All times are epoch milliseconds, lines count from 1. Importances and scores are from 0 to 1.
"""

from __future__ import annotations

from memd_client.record import Any, field, record

CATEGORIES = ("preference", "fact", "decision", "entity", "other")
"""What kinds of facts there are."""


@record
class MemoryStoreParams:
    """A fact to keep.

    `importance` left out is 0.7, `category` left out is told from the text. `id` and `created_ms` are for facts that
    come from elsewhere: one whose id is known already is not stored again. `vector` is one that was made of the text by
    `vector_model` (packed little-endian float32): it is used where the agent's provider has that model.
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
class MemoryStoreReply:
    """Where the fact stands, or which one says the same already; `vector_used` where one that came along was used.

    `id`, `category`, `path` and `line` are of the fact as it was stored; where `stored` is false, of its twin, whose
    id is `duplicate_of` and whose text `duplicate_text`. `compared` is `vectors`, `words` (no vectors could be had:
    only a text of the same words counts as a twin) or `id`; `reason` is the code of why there were no vectors.
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


@record
class FactRow:
    """A fact. `created_ms` is None where nobody wrote it down, as in a line written by hand."""

    id: str
    text: str
    importance: float
    category: str
    created_ms: int | None
    score: float
    path: str
    line: int


@record
class MemoryRecallParams:
    """A question to the facts; a blank one lists them, newest first."""

    query: str
    agent: str | None = None
    limit: int = 5
    min_score: float = 0.3


@record
class MemoryRecallReply:
    """Facts, best first.

    `compared` is `vectors`, `words` (with `reason`: why there were no vectors), or `none` of a list. `unread` facts
    had no vector yet and were compared by their words. `total` is how many facts there are.
    """

    agent: str
    facts: list[FactRow]
    compared: str
    total: int
    unread: int = 0
    reason: str = ""


@record
class FactsParams:
    """Which facts to list, newest first: `limit` from `offset` on."""

    agent: str | None = None
    offset: int = 0
    limit: int = 200


@record
class FactsReply:
    """Facts, newest first; their `score` is 0. `total` is how many there are in all."""

    agent: str
    facts: list[FactRow]
    total: int


@record
class MemoryEditParams:
    """A fact, and what it shall say.

    `was` is the text the caller knows it by: where it says something else by now, nothing is changed. `importance` and
    `category` left out stay.
    """

    id: str
    text: str
    agent: str | None = None
    was: str | None = None
    importance: float | None = None
    category: str | None = None


@record
class MemoryEditReply:
    """Where the fact stands; its `id` is another one where nobody gave it one but its text.

    Where `stored` is false another fact, `duplicate_of`, says the same already in `duplicate_text`, and nothing was
    changed; `id`, `category`, `path` and `line` are of the fact as it is.
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
    """What to forget: a fact by its id, or the one that a query clearly means."""

    id: str | None = None
    query: str | None = None
    agent: str | None = None


@record
class MemoryForgetReply:
    """The fact that was forgotten; None where none was. `candidates` are those a query may mean."""

    agent: str
    forgotten: FactRow | None
    candidates: list[FactRow] = field(default_factory=list)
    compared: str = "id"


@record
class RecallForParams:
    """A prompt that facts are wanted for; `force` although the settings don't ask for it."""

    prompt: str
    agent: str | None = None
    force: bool = False


@record
class RecallForReply:
    """A block to put before the prompt, and the facts in it.

    Where `text` is empty, `reason` says why: `off`, `blank` (the prompt says nothing), `no_facts`, `nothing_near`.
    """

    agent: str
    text: str
    reason: str = ""
    facts: list[FactRow] = field(default_factory=list)


@record
class CaptureFromParams:
    """Messages of a conversation, each with `role` and `content`; `force` although the settings don't ask for it."""

    messages: list[dict[str, Any]]
    agent: str | None = None
    force: bool = False


@record
class CapturedMessage:
    """A message that became a fact; `index` is its place in the request, from 0."""

    index: int
    id: str
    text: str
    category: str
    path: str
    line: int


@record
class PassedMessage:
    """A message that became none, and why; `duplicate_of` is the fact that says the same."""

    index: int
    reason: str
    duplicate_of: str | None = None


@record
class CaptureFromReply:
    """What was kept of a conversation, and why the rest was not. `reason` is `off` where nothing was looked at."""

    agent: str
    stored: list[CapturedMessage]
    skipped: list[PassedMessage]
    reason: str = ""
