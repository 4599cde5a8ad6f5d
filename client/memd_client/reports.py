"""Records of a status.

All times are milliseconds, all sizes bytes.
"""

from __future__ import annotations

from typing import Any

from msgspec import field

from memd_client.agent_parts import RemoteStatus, SessionsStatus, SourceStatus
from memd_client.limits import AgentId
from memd_client.problems import Degradation, Fallback, Problem, SkippedFile
from memd_client.schema import Record


class FillProgress(Record, frozen=True):
    """A vector space that is being filled while another one is searched.

    Attributes:
        provider: Name of the embedding provider.
        model: Name of the model.
        space: The vector space that is being filled.
        done: Chunks that have their vector.
        total: All chunks; at `done` = `total` the next search uses this space.
        eta_s: Estimated seconds left; None: not known yet.
        tokens: Estimated tokens that the missing vectors cost.
    """

    provider: str
    model: str
    space: str
    done: int
    total: int
    eta_s: float | None
    tokens: int


class BulkJob(Record, frozen=True):
    """A job at a provider's batch API.

    Attributes:
        id: The provider's id of the job.
        state: The provider's word for its state.
        texts: Texts in the job.
        done: Texts completed.
        submitted_ms: When it was submitted, epoch ms.
    """

    id: str
    state: str
    texts: int
    done: int
    submitted_ms: int


class RejectedText(Record, frozen=True):
    """A chunk that the provider rejects; only keyword search finds it.

    Attributes:
        path: Path relative to the workspace, as in a hit.
        start_line: First line.
        end_line: Last line.
        reason: Why the provider refuses the text.
    """

    path: str
    start_line: int
    end_line: int
    reason: str


class StatusParams(Record, frozen=True):
    """Return the state of the daemon and of its agents.

    Attributes:
        agent: Only this agent; None: all agents.
        deep: Also probe embeddings, vectors, keyword index and file access of each agent, and report on the
            installation.

    Returns:
        The state of the daemon, and `agents` with a row for each. Sizes are bytes, times milliseconds.

    Raises:
        AgentUnknownError: No agent has that id.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
    """

    agent: AgentId | None = None
    deep: bool = False


class Check(Record, frozen=True):
    """One probe of a deep status.

    Attributes:
        name: What was probed.
        ok: Whether it works.
        detail: What was found.
    """

    name: str
    ok: bool
    detail: str


class AgentStatus(Record, frozen=True):
    """One agent's memory. The defaults are those of a memory that can't be opened.

    Attributes:
        agent: The agent's id.
        workspace: Folder of the notes.
        index_path: Path of the index file.
        enabled: False: settings turn memory off.
        sources: What is memory: `memory`, `sessions`, and names of sources.
        files: Files in the index.
        chunks: Chunks in the index.
        vectors: Vectors in the vector space in use.
        files_pending: Changed files to read, counted on disk during this request: 0 means up to date.
        chunks_pending: Chunks without a vector.
        oldest_pending_ms: Age of the oldest pending change.
        provider: Provider of the vectors in use; `none` without vectors.
        model: Model of the vectors in use.
        dims: Dimensions of a vector.
        space: Vector space in use: 16 hex digits, equal for vectors that can be compared.
        filling: None, or the vector space being filled.
        waits_for: What chunks without a vector wait for, such as `mains power`; or empty.
        fallback: None, or the configured provider that the fallback replaces.
        jobs: Jobs at a provider's batch API.
        outside: Files with lines of other people, which hooks withhold.
        rejected: Chunks whose text the provider refuses; keyword search finds them.
        vector_path: How vectors are compared: `memory`, `sqlite-vec`, `scan` or `none`. The hits are the same.
        vector_path_reason: Why that way.
        last_sync_ms: Start of the last sync, epoch ms; None: none yet.
        syncing: A sync is running.
        watch: How changes are detected between searches: `events`, `polling` or `off`.
        watch_reason: Why polling.
        interval_minutes: `sync.intervalMinutes`.
        sessions: None, or transcripts in the index.
        added: Sources of other programs.
        remote: The agent's remote, or None.
        generation: Grows with every published change of the index.
        index_bytes: Size of the index file.
        degraded: None, or why searches return less than they could.
        skipped: Files that are not indexed, or only in part.
        problems: Problems of this agent.
        checks: With `deep`, the result of each probe.
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
    outside: int = 0
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


class ModelStatus(Record, frozen=True):
    """The local model and its process.

    Attributes:
        model: Name of the model.
        path: Path of the model file.
        state: `idle`, `waiting` (for RAM), `loading`, `ready`, `restarting` or `failed`.
        pid: Process id of the model's process; None: none.
        rss_bytes: RAM of the model's process.
        queued: Texts waiting for the model.
        restarts: How often its process was restarted after a failure.
        problem: The last failure, why it has no RAM, why its engine or its GPU isn't used, or empty.
        engine: The package whose llama.cpp it uses; empty until it is loaded.
        has_gpu: Whether the engine was built for a GPU; None until the model is loaded.
        gpu_layers: Layers that a GPU computes; None until the model is loaded.
    """

    model: str
    path: str
    state: str
    pid: int | None
    rss_bytes: int
    queued: int
    restarts: int
    problem: str = ""
    engine: str = ""
    has_gpu: bool | None = None
    gpu_layers: int | None = None


class ModelInfo(Record, frozen=True):
    """What a model needs, estimated from the metadata of its file. Zero is unknown.

    Attributes:
        downloaded: The file is on disk.
        architecture: Architecture of the network.
        layers: Its layers.
        dims: Dimensions of a vector.
        vocabulary: Tokens that the model distinguishes.
        trained_tokens: Longest text that the model was trained for, in tokens.
        context_tokens: Tokens that memd embeds at once; longer texts are split into windows.
        chunk_tokens: Tokens of a full chunk with prompt, start and end.
        windows: Parts that such a chunk is embedded in.
        ram_bytes: Estimated RAM of the model process while it embeds.
        peak_bytes: Estimated RAM for an instant, at the first long text.
        engine: The package whose llama.cpp loads it; empty: none is installed.
        has_gpu: Whether the engine was built for a GPU; None: not known until a model is loaded.
        gpu_layers: Layers that a GPU computes; None until the model is loaded.
    """

    downloaded: bool
    architecture: str
    layers: int
    dims: int
    vocabulary: int
    trained_tokens: int
    context_tokens: int
    chunk_tokens: int
    windows: int
    ram_bytes: int
    peak_bytes: int
    engine: str = ""
    has_gpu: bool | None = None
    gpu_layers: int | None = None


class DownloadStatus(Record, frozen=True):
    """A running or failed download of a model. Sizes are bytes; `total` is 0 if unknown.

    Attributes:
        ref: Reference of the model.
        state: `running`, `waiting` (for its next try) or `failed`.
        stage: As in the progress of `model`.
        done: Bytes downloaded.
        total: Bytes in all; 0: not known.
        problem: The last failure, or empty.
    """

    ref: str
    state: str
    stage: str
    done: int
    total: int
    problem: str = ""


class AccountStatus(Record, frozen=True):
    """One account at a provider: its state, and today's calls and tokens.

    Attributes:
        provider: Name of the embedding provider.
        state: `ok`, or `paused`: its circuit breaker is open.
        calls_today: Calls since midnight UTC.
        tokens_today: Tokens bought since midnight UTC.
        code: Why it is paused, an error code; or empty.
        reason: Why, as a sentence.
        since_ms: Since when, epoch ms.
        until_ms: When it is tried again, epoch ms.
    """

    provider: str
    state: str
    calls_today: int
    tokens_today: int
    code: str = ""
    reason: str = ""
    since_ms: int = 0
    until_ms: int = 0


class MemoryStatus(Record, frozen=True):
    """RAM in use and its budgets, in bytes: vectors, model processes and SQLite's page caches.

    Attributes:
        vectors_bytes: Vectors of all agents in RAM.
        vectors_budget: Limit for `vectors_bytes`.
        models_bytes: RAM of the processes of local models.
        models_budget: Limit for `models_bytes`.
        pages_bytes: SQLite's page caches.
        pages_budget: Limit for `pages_bytes`.
        total_budget: All limits, and RAM for the daemon itself.
        on_battery: The machine runs on its battery.
    """

    vectors_bytes: int = 0
    vectors_budget: int = 0
    models_bytes: int = 0
    models_budget: int = 0
    pages_bytes: int = 0
    pages_budget: int = 0
    total_budget: int = 0
    on_battery: bool = False


class StatusReply(Record, frozen=True):
    """The daemon and its agents. `token_budget` is the daily limit of tokens, 0 without one.

    Attributes:
        version: Release of the daemon.
        pid: Process id of the daemon.
        uptime_ms: Time since the start.
        socket: Path of the socket.
        state_dir: OpenClaw's state directory.
        config_path: Path of `openclaw.json`.
        rss_bytes: RAM of the daemon, without models.
        connections: Open connections.
        sqlite_vec: Version of sqlite-vec, or why it is not loaded.
        models: Local models.
        agents: A row per agent.
        problems: Problems of the daemon as a whole.
        downloads: Models that are being downloaded, or whose download failed.
        accounts: Provider accounts: a key at an address, shared by all agents that use it. Neither is part of the
            reply.
        tokens_today: Tokens bought from remote providers since midnight UTC.
        token_budget: `daily_token_budget`; 0: no limit.
        memory: RAM in use and its budgets.
        installation: In a deep status of all agents, what `memctl doctor` shows: `version, findings,
            daemon_config, agents`, whose content may change between releases; None in any other
            status, and if the disk takes longer than 5 s.
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
