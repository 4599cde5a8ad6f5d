"""Records of status and metrics; replies of other requests contain some of them too.

All times are milliseconds, all sizes bytes.
"""

from __future__ import annotations

from memd_client.record import Any, field, record


@record
class Problem:
    """A problem, and a hint what to do about it."""

    code: str
    message: str
    hint: str


@record
class Degradation:
    """Why a reply is incomplete, and since when (epoch milliseconds)."""

    code: str
    reason: str
    since_ms: int
    hint: str


@record
class EmptyResult:
    """Why a search has no hits, and what to do; `min_score` in the hint is the request's parameter.

    `code` is one of `source_unknown`, `sessions_not_indexed`, `no_transcripts`, `source_empty`, `workspace_missing`,
    `no_notes`, `path_matches_nothing`, `indexing`, `remote_pending`, `project_unknown`,
    `no_match`.
    """

    code: str
    message: str
    hint: str


@record
class Fallback:
    """The configured provider that failed, why, and since when (epoch milliseconds)."""

    provider: str
    code: str
    reason: str
    since_ms: int


@record
class FillProgress:
    """A vector space that is being filled while another one is searched.

    `done` of `total` chunks have a vector. `eta_s` is None while the rate is unknown; `tokens` estimates the cost of
    the missing chunks.
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
class RejectedText:
    """A chunk that the provider rejects; only keyword search finds it."""

    path: str
    start_line: int
    end_line: int
    reason: str


@record
class SkippedFile:
    """A file that is not in the index, and why."""

    path: str
    reason: str


@record
class StatusParams:
    """Which agent to report on (None: all); `deep` also probes embeddings, vectors and keyword index."""

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
    """An agent's transcripts: how many are indexed, and how many there are of each file format era.

    `excluded` counts the sessions that are not indexed, by kind; `redactions` counts secrets removed from the index.
    """

    transcripts: int = 0
    messages: int = 0
    redactions: int = 0
    stores: dict[str, int] = field(default_factory=dict)
    excluded: dict[str, int] = field(default_factory=dict)


@record
class SourceStatus:
    """A source of another program; `agent` is the one it belongs to, empty if none.

    `kind` is `transcripts` or `notes`. `files` and `bytes` count what is read in place, `sessions` and `messages` what
    is indexed of it. `excluded` counts sessions that are not indexed, by kind; `unknown` counts records that no reader
    knows. `retained` counts copies of sessions that the program deleted, in `retained_bytes`. `newest_ms` is None if
    unknown.
    """

    name: str
    title: str
    kind: str
    agent: str = ""
    locations: list[str] = field(default_factory=list)
    files: int = 0
    bytes: int = 0
    sessions: int = 0
    messages: int = 0
    redactions: int = 0
    unknown: int = 0
    excluded: dict[str, int] = field(default_factory=dict)
    newest_ms: int | None = None
    keep: bool = False
    retained: int = 0
    retained_bytes: int = 0
    problems: list[Problem] = field(default_factory=list)


@record
class MachineStatus:
    """A machine that has an agent's memory.

    `behind` counts the commits that it has not received yet, as far as this machine knows; -1 if unknown. `at_ms` is
    the time of the last commit it has, None if unknown.
    """

    name: str
    is_local: bool = False
    behind: int = -1
    at_ms: int | None = None


@record
class MemoryConflict:
    """A file with lines of another machine that conflict with a note; `note` is the note's path if known."""

    path: str
    note: str
    machine: str
    date: str


@record
class RemoteStatus:
    """An agent's memory on a remote.

    `state` is `ok`, `pending` (changes wait to be sent), `offline`, `refused` (the remote has what memd doesn't
    accept, or doesn't accept our changes), `failed`, `held` (a folder lost most of its files, and memd asks before it
    deletes them elsewhere), or `paused`. `ahead` counts commits that the remote lacks, `is_behind` tells whether it has
    commits that are not here yet. `waiting` are files that wait for another program that writes to them, or for the
    answer to a question, `excluded` files that are not replicated. `next_sync_ms` is None while paused.
    """

    agent: str
    url: str
    machine: str
    state: str
    files: int = 0
    ahead: int = 0
    is_behind: bool = False
    last_sync_ms: int | None = None
    next_sync_ms: int | None = None
    machines: list[MachineStatus] = field(default_factory=list)
    conflicts: list[MemoryConflict] = field(default_factory=list)
    waiting: list[SkippedFile] = field(default_factory=list)
    excluded: list[SkippedFile] = field(default_factory=list)
    problem: Problem | None = None


@record
class AgentStatus:
    """One agent's memory. The defaults are those of a memory that can't be opened.

    `waits_for` is set if chunks without a vector wait for something other than time or the provider.
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
    filling: FillProgress | None = None
    waits_for: str = ""
    fallback: Fallback | None = None
    jobs: list[BulkJob] = field(default_factory=list)
    rejected: list[RejectedText] = field(default_factory=list)
    vector_path: str = "none"
    vector_path_reason: str = "the index is not open"
    last_sync_ms: int | None = None
    syncing: bool = False
    watch: str = "off"
    watch_reason: str = ""
    interval_minutes: int = 0
    sessions: SessionsStatus | None = None
    added: list[SourceStatus] = field(default_factory=list)
    remote: RemoteStatus | None = None
    generation: int = 0
    index_bytes: int = 0
    degraded: Degradation | None = None
    skipped: list[SkippedFile] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)


@record
class ModelStatus:
    """The local model and its process."""

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
    """A running or failed download of a model. Sizes are bytes; `total` is 0 if unknown."""

    ref: str
    state: str
    stage: str
    done: int
    total: int
    problem: str = ""


@record
class AccountStatus:
    """One account at a provider: its state, and today's calls and tokens.

    `state` is `ok` or `paused`; `code`, `reason`, `since_ms` and `until_ms` (epoch milliseconds) describe a pause.
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
    """RAM in use and its budgets, in bytes: vectors, model processes and SQLite's page caches.

    `total_budget` includes the daemon's own RAM. `on_battery`: the machine runs on battery power.
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
    """No parameters."""


@record
class Sample:
    """One value of a metric; `labels` distinguish it from the other values."""

    labels: dict[str, str]
    value: float


@record
class Histogram:
    """Durations in seconds. `counts` has a value per bucket of `MetricsReply.bounds`, and one for longer durations."""

    labels: dict[str, str]
    counts: list[int]
    sum: float
    p50: float
    p95: float
    p99: float


@record
class Metric:
    """A metric. `kind` is `counter`, `gauge` (both have `samples`) or `histogram` (has `histograms`)."""

    name: str
    kind: str
    help: str
    samples: list[Sample] = field(default_factory=list)
    histograms: list[Histogram] = field(default_factory=list)


@record
class MetricsReply:
    """All metrics, and the upper bounds of the histograms' buckets in seconds.

    A changed `pid` or a smaller `uptime_ms` means that the counters restarted.
    """

    version: str
    pid: int
    uptime_ms: int
    bounds: list[float]
    metrics: list[Metric]


@record
class StatusReply:
    """The daemon and its agents. `token_budget` is the daily limit of tokens, 0 without one.

    `installation`, in a deep status of all agents, has the programs, settings and files that `memctl doctor` checks.
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
