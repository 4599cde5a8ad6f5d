"""What travels between a client and the daemon: parameters and replies of every request.

All times are milliseconds, all sizes bytes, line numbers start at 1 and ranges are inclusive. A newer
daemon may add fields; `wire.from_wire` leaves out what this version doesn't know.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

PROTOCOL_VERSION = 1
"""The version this release speaks; `hello` refuses any other."""


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
class SessionsStatus:
    """An agent's transcripts: how many are indexed, and how many of each era there are.

    `left_out` counts sessions that are no memory, by kind; `redactions` the secrets left out of the index.
    """

    transcripts: int = 0
    messages: int = 0
    redactions: int = 0
    eras: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)


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
    oldest_pending_ms: int = 0
    provider: str = "none"
    model: str = ""
    dims: int = 0
    vector_path: str = "none"
    vector_path_reason: str = "the index is not open"
    last_sync_ms: int | None = None
    syncing: bool = False
    watch: str = "off"
    watch_reason: str = ""
    interval_minutes: int = 0
    sessions: SessionsStatus | None = None
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
    """One place in memory: an exact slice of a file around what matched.

    In a transcript (`source` is `sessions`) the lines are those of the transcript. `copies` is how many places
    hold this very text.
    """

    path: str
    start_line: int
    end_line: int
    score: float
    vector_score: float | None
    text_score: float | None
    snippet: str
    source: str
    citation: str
    copies: int = 1
    explain: dict[str, Any] | None = None


@dataclass(frozen=True)
class Pending:
    """What is known to have changed and is not in the answer yet.

    `files` are to be read, `chunks` to be embedded; `oldest_ms` is how long the oldest of them has waited.
    """

    files: int = 0
    chunks: int = 0
    oldest_ms: int = 0


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
class SessionStartedParams:
    """An agent's session begins; `session_key` is OpenClaw's name for the conversation."""

    session_key: str
    agent: str | None = None


@dataclass(frozen=True)
class SessionStartedReply:
    """Whether a sync was started for it: the first time for each key, where the settings want it."""

    agent: str
    syncing: bool


@dataclass(frozen=True)
class CompactionDoneParams:
    """An agent's context was compacted."""

    session_key: str = ""
    agent: str | None = None


@dataclass(frozen=True)
class CompactionDoneReply:
    """A sync was started, since a flush has usually just written notes."""

    agent: str
    syncing: bool


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
    "session_started": (SessionStartedParams, SessionStartedReply),
    "compaction_done": (CompactionDoneParams, CompactionDoneReply),
    "cancel": (CancelParams, CancelReply),
}
"""Every request by name: its parameters and its reply."""
