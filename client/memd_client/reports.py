"""What the daemon says of itself and of each agent: the parts of a status, some of which other replies carry too.

All times are milliseconds, all sizes bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field


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
class Fallback:
    """The provider that was wanted and failed, why, and since when (epoch milliseconds)."""

    provider: str
    code: str
    reason: str
    since_ms: int


@dataclass(frozen=True)
class Filling:
    """A vector space that is being filled while another one answers.

    `done` of `total` texts have their vector. `eta_s` is None while the pace isn't known; `tokens` is about what the
    missing texts cost.
    """

    provider: str
    model: str
    space: str
    done: int
    total: int
    eta_s: float | None
    tokens: int


@dataclass(frozen=True)
class BulkJob:
    """A job at a provider's batch API."""

    id: str
    state: str
    texts: int
    done: int
    submitted_ms: int


@dataclass(frozen=True)
class RefusedText:
    """A chunk no vector can be had for; it is found by its words."""

    path: str
    start_line: int
    end_line: int
    reason: str


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
    space: str = ""
    filling: Filling | None = None
    fallback: Fallback | None = None
    jobs: list[BulkJob] = field(default_factory=list)
    refused: list[RefusedText] = field(default_factory=list)
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
class DownloadStatus:
    """A model being downloaded, or one whose download failed. Sizes are bytes; `total` is 0 where it isn't known."""

    ref: str
    state: str
    stage: str
    done: int
    total: int
    problem: str = ""


@dataclass(frozen=True)
class AccountStatus:
    """One account at a provider: whether it may be asked, and what it was asked for today.

    `state` is `ok` or `paused`; a paused one says why, since when and until when (epoch milliseconds).
    """

    provider: str
    state: str
    calls_today: int
    tokens_today: int
    code: str = ""
    reason: str = ""
    since_ms: int = 0
    until_ms: int = 0


@dataclass(frozen=True)
class StatusReply:
    """The daemon and its agents. `token_budget` is what may be bought in a day, 0 without a limit."""

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
    downloads: list[DownloadStatus] = field(default_factory=list)
    accounts: list[AccountStatus] = field(default_factory=list)
    tokens_today: int = 0
    token_budget: int = 0
