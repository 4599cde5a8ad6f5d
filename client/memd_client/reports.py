"""What the daemon says of itself and of each agent: the parts of a status, some of which other replies carry too.

All times are milliseconds, all sizes bytes.
"""

from __future__ import annotations

from memd_client.record import Any, field, record


@record
class Problem:
    """Something that is wrong, and the way out."""

    code: str
    message: str
    hint: str


@record
class Degraded:
    """Why an answer is less than the whole, and since when (epoch milliseconds)."""

    code: str
    reason: str
    since_ms: int
    hint: str


@record
class EmptyResult:
    """Why a search has no hits, as sentences, and what to do: a `min_score` in the hint is the request's parameter.

    `code` is one of `sessions_not_indexed`, `no_transcripts`, `workspace_missing`, `no_notes`, `path_matches_nothing`,
    `indexing`, `no_match`.
    """

    code: str
    message: str
    hint: str


@record
class Fallback:
    """The provider that was wanted and failed, why, and since when (epoch milliseconds)."""

    provider: str
    code: str
    reason: str
    since_ms: int


@record
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


@record
class BulkJob:
    """A job at a provider's batch API."""

    id: str
    state: str
    texts: int
    done: int
    submitted_ms: int


@record
class RefusedText:
    """A chunk no vector can be had for; it is found by its words."""

    path: str
    start_line: int
    end_line: int
    reason: str


@record
class Skipped:
    """A file that is not in the index, and why."""

    path: str
    reason: str


@record
class StatusParams:
    """What to report on: one agent or all; `deep` also probes embeddings, vectors and keyword index."""

    agent: str | None = None
    deep: bool = False


@record
class Check:
    """One probe of a deep status."""

    name: str
    ok: bool
    detail: str


@record
class SessionsStatus:
    """An agent's transcripts: how many are indexed, and how many of each era there are.

    `left_out` counts sessions that are no memory, by kind; `redactions` the secrets left out of the index.
    """

    transcripts: int = 0
    messages: int = 0
    redactions: int = 0
    eras: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)


@record
class AgentStatus:
    """One agent's memory at a glance. The defaults are those of a memory that can't be opened.

    `waits_for`: what the texts without a vector wait for, where that is neither time nor the provider.
    """

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
    waits_for: str = ""
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


@record
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


@record
class DownloadStatus:
    """A model being downloaded, or one whose download failed. Sizes are bytes; `total` is 0 where it isn't known."""

    ref: str
    state: str
    stage: str
    done: int
    total: int
    problem: str = ""


@record
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


@record
class MemoryStatus:
    """What the daemon holds in memory, and what it may: vectors, local models' processes, SQLite's caches. Bytes.

    `total_budget` is all of it and what the daemon itself takes. `on_battery`: the machine draws from its battery.
    """

    vectors_bytes: int = 0
    vectors_budget: int = 0
    models_bytes: int = 0
    models_budget: int = 0
    pages_bytes: int = 0
    pages_budget: int = 0
    total_budget: int = 0
    on_battery: bool = False


@record
class MetricsParams:
    """Everything that is counted; there is nothing to choose."""


@record
class Sample:
    """One figure; `labels` tell which of its metric."""

    labels: dict[str, str]
    value: float


@record
class Histogram:
    """Durations in seconds. `counts` holds each bucket's own, one more than `MetricsReply.bounds`: what was longer."""

    labels: dict[str, str]
    counts: list[int]
    sum: float
    p50: float
    p95: float
    p99: float


@record
class Metric:
    """Figures of one name. `kind` is `counter`, `gauge` (both have `samples`) or `histogram` (has `histograms`)."""

    name: str
    kind: str
    help: str
    samples: list[Sample] = field(default_factory=list)
    histograms: list[Histogram] = field(default_factory=list)


@record
class MetricsReply:
    """All figures, and the upper bounds of all histograms' buckets in seconds.

    `pid` and `uptime_ms` tell whether counters began anew since the last look.
    """

    version: str
    pid: int
    uptime_ms: int
    bounds: list[float]
    metrics: list[Metric]


@record
class StatusReply:
    """The daemon and its agents. `token_budget` is what may be bought in a day, 0 without a limit.

    `installation`: in a deep status of all agents, what `memctl doctor` needs of programs, settings, folders and files.
    """

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
    memory: MemoryStatus = field(default_factory=MemoryStatus)
    installation: dict[str, Any] | None = None
