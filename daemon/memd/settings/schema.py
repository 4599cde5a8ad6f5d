"""The settings of an agent's search and of the daemon: name, type, default, unit, bounds and meaning.

Keys are those of OpenClaw's `memory.search`, camelCase in the file. `scripts/docs` generates the tables of
docs/configuration.md and the schema of the plugin's config from these structs, in the order of their fields. An agent's
other settings are in `memd.settings.lifecycle`.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from memd.settings.endpoints import EndpointSettings
from memd.settings.fields import REFUSED, AtLeast0, AtLeast1, Derived, Setting, Settings
from memd.settings.hooks import HooksSettings
from memd.settings.local import Local

Source = Literal["memory", "sessions"]
Fusion = Literal["normalized", "weighted", "rrf"]


class ExtraPath(Settings, frozen=True, kw_only=True):
    """A folder or file outside the workspace's memory; `pattern` is a glob below it."""

    path: str
    pattern: str | None = None


class Experimental(Settings, frozen=True, kw_only=True):
    """Experimental settings, off by default."""

    session_memory: Annotated[bool, Setting("Allows `sessions` among the `sources`.")] = False


class Chunking(Settings, frozen=True, kw_only=True):
    """Size and overlap of chunks; if no file sets either, notes are split at headings."""

    tokens: Annotated[
        int,
        Setting(
            "Size of a chunk; after a change the next sync chunks all files again.", unit="tokens", least=1
        ),
    ] = 400
    overlap: Annotated[
        int,
        Setting(
            "Overlap with the previous chunk. If neither size is set, notes are split at headings.",
            unit="tokens",
            least=0,
        ),
    ] = 80
    sizes_set: Annotated[bool, Derived("tokens", "overlap")] = False


class VectorStore(Settings, frozen=True, kw_only=True):
    """sqlite-vec."""

    enabled: Annotated[bool, Setting("Whether to use sqlite-vec, if it loads.")] = True
    extension_path: Annotated[
        str | None, Setting("Path of another build of sqlite-vec.", default="the bundled one", is_path=True)
    ] = None


class Store(Settings, frozen=True, kw_only=True):
    """The index file."""

    driver: Annotated[Literal["sqlite"], Setting("The only value."), REFUSED] = "sqlite"
    path: Annotated[
        str,
        Setting(
            "The index file; `{agentId}` is replaced by the agent's id.",
            default="`<state>/memory/{agentId}.memd.sqlite`",
            is_path=True,
        ),
        REFUSED,
    ] = ""
    vector: VectorStore = VectorStore()


class Cache(Settings, frozen=True, kw_only=True):
    """Vectors that no chunk uses."""

    enabled: Annotated[
        bool, Setting("Without effect, for compatibility with OpenClaw; vectors in use are always stored.")
    ] = True
    max_entries: Annotated[
        int | None,
        Setting(
            "Maximum number of vectors; vectors in use are never evicted, others by least recent use.",
            least=1,
            default="see `vector_cache_mb`",
        ),
        REFUSED,
    ] = None


class SessionSync(Settings, frozen=True, kw_only=True):
    """Growth of a transcript before it is indexed again."""

    delta_bytes: Annotated[
        int,
        Setting(
            "Growth after which a transcript is indexed; a search indexes any growth.", unit="bytes", least=0
        ),
    ] = 100_000
    delta_messages: Annotated[int, Setting("The same, in messages.", unit="messages", least=0)] = 50


class Sync(Settings, frozen=True, kw_only=True):
    """Triggers of a sync."""

    on_search: Annotated[
        bool,
        Setting(
            "Whether a search indexes changed files first; if off, it only drops hits whose text is gone, and counts "
            "changes as pending."
        ),
    ] = True
    on_session_start: Annotated[
        bool, Setting("Whether `session_started` starts a sync, once per session key.")
    ] = True
    watch: Annotated[bool, Setting("Whether file events start a sync.")] = True
    watch_debounce_ms: Annotated[
        int, Setting("Quiet time after file events before a sync.", unit="milliseconds", least=0)
    ] = 1500
    interval_minutes: Annotated[
        int,
        Setting("Interval of syncs; 0: only the full check every ten minutes.", unit="minutes", least=0),
    ] = 0
    sessions: SessionSync = SessionSync()


class Mmr(Settings, frozen=True, kw_only=True):
    """Maximal marginal relevance."""

    enabled: Annotated[bool, Setting("Whether to prefer hits that differ from those ranked higher.")] = False
    lambda_: Annotated[
        float, Setting("Weight of relevance against difference; 1: relevance only.", least=0, most=1)
    ] = msgspec.field(name="lambda", default=0.7)


class TemporalDecay(Settings, frozen=True, kw_only=True):
    """Lower scores for older notes."""

    enabled: Annotated[bool, Setting("Whether the score of dated notes decreases with age.")] = False
    half_life_days: Annotated[
        float,
        Setting("Age at which a dated note's score is halved.", unit="days", least=1),
    ] = 30


class Hybrid(Settings, frozen=True, kw_only=True):
    """Fusion of keyword and vector search; the weights add up to 1.

    The defaults are OpenClaw's and fit its formula; `normalized` has its own weights (docs/ranking.md) unless a file
    sets them.
    """

    enabled: Annotated[
        bool,
        Setting(
            "Whether to combine keyword and vector search; if off, vector search only, if there are vectors."
        ),
    ] = True
    fusion: Annotated[
        Fusion,
        Setting("How scores are combined; `weighted` is OpenClaw's formula. See [ranking.md](ranking.md)."),
    ] = "normalized"
    vector_weight: Annotated[
        float,
        Setting("Weight of vector search; `normalized` uses 0.46 unless you set a weight.", least=0, most=1),
    ] = 0.7
    text_weight: Annotated[float, Setting("Weight of keyword search.", least=0, most=1)] = 0.3
    candidate_multiplier: Annotated[
        int,
        Setting(
            "Without effect, for compatibility with OpenClaw; the number of candidates is fixed.",
            least=1,
            most=20,
        ),
    ] = 4
    mmr: Mmr = Mmr()
    temporal_decay: TemporalDecay = TemporalDecay()
    weights_set: Annotated[bool, Derived("vector_weight", "text_weight")] = False


class QuerySettings(Settings, frozen=True, kw_only=True):
    """Limits of a search's result."""

    max_results: Annotated[
        int,
        Setting("Maximum number of hits, if the request sets none; for tools only if you set it.", least=1),
    ] = 6
    min_score: Annotated[
        float,
        Setting(
            'Minimum score of a hit; applies if you set it, and with `fusion: "weighted"`.', least=0, most=1
        ),
    ] = 0.35
    currency: Annotated[
        bool, Setting("Whether hits tell if what they name [still holds](currency.md) in its git repository.")
    ] = True
    prefer_trusted: Annotated[
        bool,
        Setting("Whether a statement ranks before a copy of it whose words are [trusted less](trust.md)."),
    ] = True
    hybrid: Annotated[Hybrid, REFUSED] = Hybrid()
    max_results_set: Annotated[bool, Derived("max_results")] = False
    min_score_set: Annotated[bool, Derived("min_score")] = False


class MemorySearch(Settings, frozen=True, kw_only=True):
    """All settings of one agent's memory search."""

    enabled: Annotated[
        bool,
        Setting("Whether the agent has a searchable memory; if off, requests fail with `memory_disabled`."),
    ] = True
    sources: Annotated[
        tuple[Source, ...],
        Setting(
            "What is searched; `sessions` (with `experimental.sessionMemory` or `rememberAcrossConversations`) adds "
            "transcripts: see [openclaw.md](openclaw.md#search-transcripts).",
            kind='a list of "memory", "sessions"',
        ),
    ] = ("memory",)
    extra_paths: Annotated[
        tuple[ExtraPath, ...],
        Setting(
            "Additional Markdown: paths, or objects with a `path` and a glob `pattern`; relative paths start at the "
            "workspace.",
            kind="a list of paths, or of objects with a path and a pattern",
        ),
    ] = ()
    experimental: Experimental = Experimental()
    remember_across_conversations: Annotated[
        bool | None,
        Setting(
            "Whether transcripts are indexed for [OpenClaw's recall before replies](openclaw.md#search-transcripts).",
            default="as in OpenClaw while memd is in its memory slot, else `false`",
        ),
    ] = None
    work: Annotated[
        bool,
        Setting(
            "Whether commands and changed files of conversations with OpenClaw are searched, on request."
        ),
    ] = True
    searched_sources: Annotated[tuple[Source, ...] | None, Derived()] = None  # None: all `sources`
    chunking: Annotated[Chunking, REFUSED] = Chunking()
    store: Store = Store()
    cache: Cache = Cache()
    provider: Annotated[
        str,
        Setting(
            "The embedding provider: `auto`, `none` (keyword search only), a provider of "
            "[remote-providers.md](remote-providers.md), or an id of `models.providers`."
        ),
    ] = "auto"
    model: Annotated[
        str,
        Setting(
            "The provider's name of the model; for `local` see `local.modelPath`.",
            default="the provider's own",
        ),
    ] = ""
    fallback: Annotated[
        str, Setting("The embedding provider while the first one fails: a provider's name or id, or `none`.")
    ] = "none"
    query_input_type: Annotated[
        str | None,
        Setting(
            "The `input_type` of queries, for Voyage and for compatible endpoints that need one.",
            default="`inputType`",
        ),
    ] = None
    document_input_type: Annotated[
        str | None,
        Setting("The `input_type` of chunks; a change starts a new vector space.", default="`inputType`"),
    ] = None
    input_type: Annotated[
        str | None, Setting("The `input_type` of queries and chunks, unless set separately.")
    ] = None
    output_dimensionality: Annotated[
        AtLeast1 | None,
        Setting(
            "The size of vectors, if the model offers several; a change starts a new vector space.",
            default="the model's own",
            drops_fraction=True,
        ),
    ] = None
    local: Local = Local()
    endpoint: EndpointSettings | None = None
    sync: Annotated[Sync, REFUSED] = Sync()
    query: QuerySettings = QuerySettings()


class DaemonSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`memd.toml`: the daemon's own settings, snake_case."""

    socket: Annotated[
        str | None,
        Setting(
            "The socket's path, for the default state directory; clients need the same path in `MEMD_SOCKET`.",
            default="see [protocol.md](protocol.md)",
        ),
    ] = None
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Setting("The minimum level of logged events."),
    ] = "info"
    exclude: Annotated[
        tuple[str, ...],
        Setting(
            "Folders and projects that are never indexed and never shown to a program. What was indexed of them "
            "disappears. A name without `/` is that of a project's folder.",
            kind="list of paths and names",
        ),
    ] = ()
    recall_log: Annotated[
        bool,
        Setting(
            "Whether searches and the texts that hooks add are logged for `memctl usage`, in 10 MB at most. `false` "
            "also deletes the log at the next start."
        ),
    ] = True
    forget_trash_days: Annotated[
        AtLeast0,
        Setting(
            "Days that notes stay in the trash after `memctl forget`, so that `--undo` can restore them. 0: they are "
            "erased at once.",
            unit="days",
        ),
    ] = 0
    vector_ram_mb: Annotated[
        AtLeast0 | None,
        Setting(
            "RAM for the vectors of all agents; those of the least recently searched agents are evicted first and read "
            "from disk. `memctl status` shows what is in use.",
            unit="MB",
            default="a sixteenth of the machine's RAM, 64 to 1024",
        ),
    ] = None
    model_ram_mb: Annotated[
        AtLeast0,
        Setting(
            "RAM for the local models of all agents; a model that doesn't fit waits, or evicts another one. "
            "0: half of the machine's RAM.",
            unit="MB",
        ),
    ] = 0
    model_keep_alive_minutes: Annotated[
        float,
        msgspec.Meta(ge=0),
        Setting("Time until an unused model is unloaded; 0: never.", unit="minutes"),
    ] = 30
    pause_on_battery: Annotated[
        bool,
        Setting(
            "On battery, a local model embeds only the newest few chunks of a change, and the rest waits for mains "
            "power. `memctl index` doesn't wait."
        ),
    ] = True
    model_threads: Annotated[
        AtLeast0, Setting("Threads of a model; 0: the number of physical cores, at most 8.")
    ] = 0
    query_embed_timeout_ms: Annotated[
        AtLeast1,
        Setting(
            "How long a search waits for the query's vector before it uses keyword search only.",
            unit="milliseconds",
        ),
    ] = 2000
    catch_up_ms: Annotated[
        AtLeast0,
        Setting(
            "How long a search may spend on indexing changed files, if the request has no deadline.",
            unit="milliseconds",
        ),
    ] = 150
    watcher: Annotated[
        Literal["auto", "inotify", "watchfiles", "poll"],
        Setting(
            "How changed files are detected: `inotify` (Linux), `watchfiles` (that library's file events), `poll` "
            "(periodic checks), or `auto`: `inotify` on Linux and `watchfiles` elsewhere."
        ),
    ] = "auto"
    max_file_mb: Annotated[
        AtLeast1,
        Setting(
            "Limit of a file: larger notes are indexed up to it, larger transcripts are not indexed, and the status "
            "lists them. Notes and facts that memd writes continue in a new file.",
            unit="MB",
        ),
    ] = 16
    max_agent_files: Annotated[
        AtLeast1,
        Setting(
            "Limit of files and transcripts indexed for one agent: the oldest beyond it are skipped, and the status "
            "lists them. Files that memd writes are indexed first."
        ),
    ] = 20_000
    max_agent_mb: Annotated[AtLeast1, Setting("Limit of their total size.", unit="MB")] = 1024
    daily_token_budget: Annotated[
        AtLeast0,
        Setting("Maximum tokens sent to all remote providers per day (UTC); 0: no limit.", unit="tokens"),
    ] = 20_000_000
    vector_cache_mb: Annotated[
        AtLeast0,
        Setting(
            "Limit of vectors that no chunk uses in one agent's index; they make switching back to a model free.",
            unit="MB",
        ),
    ] = 256
    hooks: HooksSettings = HooksSettings()
