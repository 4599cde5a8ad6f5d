"""What travels between a client and the daemon: parameters and replies of every request.

All times are milliseconds, all sizes bytes, line numbers start at 1 and ranges are inclusive. A newer
daemon may add fields; `from_wire` leaves out what this version doesn't know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, TypeVar

PROTOCOL_VERSION = 1
"""The version this release speaks; `hello` refuses any other."""

T = TypeVar("T")


@dataclass(frozen=True)
class HelloParams:
    """First request of a connection."""

    protocol: int = PROTOCOL_VERSION
    client: str = ""
    version: str = ""


@dataclass(frozen=True)
class HelloReply:
    """Who answers, and what it can do."""

    protocol: int
    version: str
    pid: int
    capabilities: list[str]
    limits: dict[str, int]


@dataclass(frozen=True)
class Problem:
    """Something that is wrong, and the way out."""

    code: str
    message: str
    hint: str


@dataclass(frozen=True)
class Degraded:
    """Why an answer is less than the whole, and since when (epoch milliseconds)."""

    code: str
    reason: str
    since_ms: int
    hint: str


@dataclass(frozen=True)
class Skipped:
    """A file that is not in the index, and why."""

    path: str
    reason: str


@dataclass(frozen=True)
class StatusParams:
    """What to report on: one agent or all; `deep` also probes embeddings, vectors and keyword index."""

    agent: str | None = None
    deep: bool = False


@dataclass(frozen=True)
class Check:
    """One probe of a deep status."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True)
class AgentStatus:
    """One agent's memory at a glance. The defaults are those of a memory that can't be opened."""

    agent: str
    workspace: str = ""
    index_path: str = ""
    enabled: bool = True
    sources: list[str] = field(default_factory=list)
    files: int = 0
    chunks: int = 0
    vectors: int = 0
    files_pending: int = 0
    chunks_pending: int = 0
    provider: str = "none"
    model: str = ""
    dims: int = 0
    vector_path: str = "none"
    vector_path_reason: str = "the index is not open"
    last_sync_ms: int | None = None
    syncing: bool = False
    generation: int = 0
    index_bytes: int = 0
    degraded: Degraded | None = None
    skipped: list[Skipped] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)


@dataclass(frozen=True)
class ModelStatus:
    """The local model and the process that holds it."""

    model: str
    path: str
    state: str
    pid: int | None
    rss_bytes: int
    queued: int
    restarts: int
    problem: str = ""


@dataclass(frozen=True)
class StatusReply:
    """The daemon and its agents."""

    version: str
    pid: int
    uptime_ms: int
    socket: str
    state_dir: str
    config_path: str
    rss_bytes: int
    connections: int
    sqlite_vec: str
    models: list[ModelStatus]
    agents: list[AgentStatus]
    problems: list[Problem]


@dataclass(frozen=True)
class SearchParams:
    """A question to one agent's memory.

    `min_score` and `max_results` left out take the agent's settings. `path` keeps hits whose path starts
    with it. `deadline_ms` bounds the whole request.
    """

    query: str
    agent: str | None = None
    max_results: int | None = None
    min_score: float | None = None
    sources: list[str] | None = None
    path: str | None = None
    deadline_ms: int | None = None
    explain: bool = False


@dataclass(frozen=True)
class Hit:
    """One place in memory: an exact slice of a file around what matched."""

    path: str
    start_line: int
    end_line: int
    score: float
    vector_score: float | None
    text_score: float | None
    snippet: str
    source: str
    citation: str
    explain: dict[str, Any] | None = None


@dataclass(frozen=True)
class Pending:
    """What is known to have changed and is not in the answer yet."""

    files: int = 0
    chunks: int = 0


@dataclass(frozen=True)
class SearchReply:
    """Hits, best first, and how they were found.

    `mode` is `hybrid`, `keyword` or `vector`; `abstained` says that nothing relevant was found.
    """

    agent: str
    hits: list[Hit]
    mode: str
    degraded: Degraded | None
    abstained: bool
    took_ms: float
    provider: str
    model: str
    generation: int
    pending: Pending
    partial: bool = False
    timings: dict[str, float] | None = None


@dataclass(frozen=True)
class GetParams:
    """Lines of an allowed file; `lines` left out means to its end."""

    path: str
    agent: str | None = None
    from_line: int = 1
    lines: int | None = None


@dataclass(frozen=True)
class GetReply:
    """The lines asked for, unchanged; `truncated` where the frame limit cut them."""

    agent: str
    path: str
    text: str
    from_line: int
    lines: int
    total_lines: int
    truncated: bool = False


@dataclass(frozen=True)
class IndexParams:
    """Bring one agent (or all) up to date now; `force` reads, chunks and embeds everything again."""

    agent: str | None = None
    force: bool = False


@dataclass(frozen=True)
class IndexedAgent:
    """What one agent's sync did."""

    agent: str
    files: int
    chunks: int
    files_changed: int
    files_removed: int
    embedded: int
    reused: int
    took_ms: float
    degraded: Degraded | None = None
    skipped: list[Skipped] = field(default_factory=list)
    error: Problem | None = None


@dataclass(frozen=True)
class IndexReply:
    """One row per agent synced."""

    agents: list[IndexedAgent]


@dataclass(frozen=True)
class EmbedParams:
    """Texts for the warm model; `kind` is `query` or `document`."""

    texts: list[str]
    agent: str | None = None
    kind: str = "document"


@dataclass(frozen=True)
class EmbedReply:
    """Unit vectors, packed little-endian float32, `count` rows of `dims`."""

    provider: str
    model: str
    count: int
    dims: int
    vectors: bytes


@dataclass(frozen=True)
class ModelParams:
    """A model to make ready on disk: `minilm`, a path, or an `hf:` or `https:` reference."""

    ref: str


@dataclass(frozen=True)
class ModelReply:
    """The model file, checked."""

    ref: str
    path: str
    size_bytes: int


@dataclass(frozen=True)
class CancelParams:
    """The request of this connection to stop."""

    id: int


@dataclass(frozen=True)
class CancelReply:
    """Whether that request was still running."""

    cancelled: bool


@dataclass(frozen=True)
class Progress:
    """How far a request is. `stage` names the step; `total` is 0 where it isn't known."""

    id: int
    stage: str
    done: int
    total: int
    detail: str = ""


REQUESTS: dict[str, tuple[type[Any], type[Any]]] = {
    "hello": (HelloParams, HelloReply),
    "status": (StatusParams, StatusReply),
    "search": (SearchParams, SearchReply),
    "get": (GetParams, GetReply),
    "index": (IndexParams, IndexReply),
    "embed": (EmbedParams, EmbedReply),
    "model": (ModelParams, ModelReply),
    "cancel": (CancelParams, CancelReply),
}
"""Every request by name: its parameters and its reply."""

_NESTED: dict[str, tuple[type[Any], bool]] = {
    "hits": (Hit, True),
    "models": (ModelStatus, True),
    "problems": (Problem, True),
    "checks": (Check, True),
    "skipped": (Skipped, True),
    "degraded": (Degraded, False),
    "pending": (Pending, False),
    "error": (Problem, False),
}


def to_wire(message: Any) -> Any:
    """Return a message as maps, lists and scalars for msgpack.

    Args:
        message: A message of this module, or anything inside one.
    """
    if is_dataclass(message) and not isinstance(message, type):
        return {name: to_wire(getattr(message, name)) for name in type(message).__dataclass_fields__}
    if isinstance(message, list | tuple):
        return [to_wire(item) for item in message]
    return message


def from_wire(kind: type[T], value: Mapping[str, Any]) -> T:
    """Return the reply of a type that arrived as a map.

    Args:
        kind: The reply type, from `REQUESTS`.
        value: The map of the reply.

    Raises:
        TypeError: A field this version needs is missing.
    """
    known = {item.name for item in fields(kind)}  # type: ignore[arg-type]
    facts: dict[str, Any] = {}
    for name, item in value.items():
        if name not in known:
            continue
        if name == "agents" and isinstance(item, list):
            row = AgentStatus if kind is StatusReply else IndexedAgent
            facts[name] = [from_wire(row, each) for each in item]
        elif name in _NESTED and item is not None:
            nested, many = _NESTED[name]
            facts[name] = [from_wire(nested, each) for each in item] if many else from_wire(nested, item)
        else:
            facts[name] = item
    return kind(**facts)
