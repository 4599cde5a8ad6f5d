"""Every setting of an agent's search and of the daemon, once: name, type, default, unit, bounds and its sentence.

Keys are those of OpenClaw's `memory.search`, camelCase in the file. The tables of docs/configuration.md and the schema
of the plugin's config are made of these structs by `scripts/config_doc`; the order of fields is theirs. Those of an
agent beside its search are in `memd.settings.lifecycle`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from memd.settings.fields import REFUSED, AtLeast0, AtLeast1, Derived, Setting, Settings

Source = Literal["memory", "sessions"]
Fusion = Literal["normalized", "weighted", "rrf"]

KEY_KINDS = 'a string, or {source: "env", id: "NAME"}'
"""What an API key may be, in words: of OpenClaw's references to secrets those to the environment."""


class ExtraPath(Settings, frozen=True, kw_only=True):
    """A folder or file outside the workspace's memory; `pattern` is a glob below it."""

    path: str
    pattern: str | None = None


class Experimental(Settings, frozen=True, kw_only=True):
    """Off by default."""

    session_memory: Annotated[bool, Setting("Allows `sessions` among the `sources`.")] = False


class Chunking(Settings, frozen=True, kw_only=True):
    """Size of a chunk and its overlap with the one before; if no file sets either, notes are cut at their passages."""

    tokens: Annotated[
        int,
        Setting(
            "Size of a chunk; after a change the next sync cuts all files again.", unit="tokens", least=1
        ),
    ] = 400
    overlap: Annotated[
        int,
        Setting(
            "How much a chunk repeats of the one before. If neither size is set, notes are cut at their passages.",
            unit="tokens",
            least=0,
        ),
    ] = 80
    sizes_set: Annotated[bool, Derived("tokens", "overlap")] = False


class VectorStore(Settings, frozen=True, kw_only=True):
    """sqlite-vec."""

    enabled: Annotated[bool, Setting("Use sqlite-vec if it loads.")] = True
    extension_path: Annotated[
        str | None, Setting("Another build of sqlite-vec.", default="the bundled one", is_path=True)
    ] = None


class Store(Settings, frozen=True, kw_only=True):
    """The index file."""

    driver: Annotated[Literal["sqlite"], Setting("The only value."), REFUSED] = "sqlite"
    path: Annotated[
        str,
        Setting(
            "The index file; `{agentId}` stands for the agent.",
            default="`<state>/memory/{agentId}.memd.sqlite`",
            is_path=True,
        ),
        REFUSED,
    ] = ""
    vector: VectorStore = VectorStore()


class Cache(Settings, frozen=True, kw_only=True):
    """Vectors kept after their text is gone."""

    enabled: Annotated[bool, Setting("Kept for OpenClaw; vectors in use are always stored.")] = True
    max_entries: Annotated[
        int | None,
        Setting(
            "Most vectors kept; vectors in use are never evicted, of the others the least recently used are first.",
            least=1,
            default="see `vector_cache_mb`",
        ),
        REFUSED,
    ] = None


class Local(Settings, frozen=True, kw_only=True):
    """The local model."""

    model_path: Annotated[
        str | None,
        Setting(
            "The local model: a path, `minilm`, `hf:owner/repo/file.gguf` or `https://…`.",
            default="EmbeddingGemma 300M",
            is_path=True,
        ),
    ] = None
    model_cache_dir: Annotated[
        str | None,
        Setting("Where pulled models are.", default="`MEMD_MODEL_DIR`", is_path=True),
        REFUSED,
    ] = None


class Batch(Settings, frozen=True, kw_only=True):
    """A provider's asynchronous batch API."""

    enabled: Annotated[
        bool,
        Setting(
            "Use the provider's batch API, if it has one, for bulk work; at another address than the provider's own "
            "only if this is set."
        ),
    ] = True
    wait: Annotated[bool, Setting("Whether `memctl index` waits for batch jobs."), REFUSED] = True
    concurrency: Annotated[int, Setting("Batch jobs under way at once.", least=1), REFUSED] = 2
    poll_interval_ms: Annotated[
        int,
        Setting("Time between two looks at a batch job.", unit="milliseconds", least=0),
        REFUSED,
    ] = 2000
    timeout_minutes: Annotated[
        int,
        Setting(
            "How long a batch job may take; then it is cancelled, and plain requests do the rest.",
            unit="minutes",
            least=0,
        ),
        REFUSED,
    ] = 60
    enabled_set: Annotated[bool, Derived("enabled")] = False


class Remote(Settings, frozen=True, kw_only=True):
    """Where a remote provider is, and how to speak to it.

    `${NAME}` in the key, the address or a header's value stands for an environment variable.
    """

    base_url: Annotated[
        str | None,
        Setting(
            "The provider's address; setting it makes `openai` any OpenAI-compatible endpoint.",
            default="the provider's own",
        ),
    ] = None
    api_key: Annotated[
        str | None,
        Setting(
            "The key: itself, `${VARIABLE}`, or an object that names a variable; see [Keys](#keys).",
            kind=KEY_KINDS,
        ),
    ] = None
    headers: Annotated[
        dict[str, str] | None,
        Setting("Headers added to every request; `${VARIABLE}` works here, too."),
    ] = None
    batch: Batch = Batch()

    def __repr__(self) -> str:
        """Return the settings without the key and the headers' values: they must not reach a log."""
        return f"Remote({_hidden(self.base_url, self.api_key, self.headers)}, batch={self.batch!r})"


class ProviderEntry(Settings, frozen=True, kw_only=True):
    """One of OpenClaw's `models.providers`: its id, and what embeddings need of it.

    As in `Remote`, `${NAME}` stands for an environment variable.
    """

    id: Annotated[str, Derived()] = ""
    base_url: Annotated[str | None, Setting("The endpoint's address.")] = None
    api_key: Annotated[
        str | None, Setting("Its key, in any of the forms of `remote.apiKey`.", kind=KEY_KINDS)
    ] = None
    api: Annotated[
        str | None, Setting("The API it has; it decides which of the providers' interfaces is used.")
    ] = None
    headers: Annotated[
        dict[str, str] | None,
        Setting("Headers sent with every request; `remote.headers` of the agent win."),
    ] = None
    models: Annotated[
        tuple[str, ...],
        Setting(
            "Its models; if the agent names none, the first with `embed` in its id is used, else the first.",
            kind="a list of objects with an id",
        ),
    ] = ()

    def __repr__(self) -> str:
        """Return the entry without the key and the headers' values: they must not reach a log."""
        facts = _hidden(self.base_url, self.api_key, self.headers)
        return f"ProviderEntry(id={self.id!r}, {facts}, api={self.api!r}, models={self.models!r})"


def _hidden(base_url: str | None, api_key: str | None, headers: Mapping[str, str] | None) -> str:
    """Return for a repr where a provider is; of key and headers only that they are there."""
    address = base_url and re.sub(r"(?<=//).*@|[?#].*", "", base_url, flags=re.DOTALL)
    key = "set" if api_key else "none"
    return f"base_url={address!r}, api_key=<{key}>, headers={sorted(headers or {})}"


class SessionSync(Settings, frozen=True, kw_only=True):
    """How much a transcript grows before it is read again."""

    delta_bytes: Annotated[
        int,
        Setting(
            "A transcript is indexed once it has grown this much; a search indexes any growth.",
            unit="bytes",
            least=0,
        ),
    ] = 100_000
    delta_messages: Annotated[int, Setting("Likewise.", unit="messages", least=0)] = 50


class Sync(Settings, frozen=True, kw_only=True):
    """When the index follows the files."""

    on_search: Annotated[
        bool,
        Setting(
            "A search indexes changed files first; off, it only leaves out text that is gone, and counts the rest "
            "as pending."
        ),
    ] = True
    on_session_start: Annotated[bool, Setting("`session_started` syncs, once for each session key.")] = True
    watch: Annotated[bool, Setting("File events start a sync.")] = True
    watch_debounce_ms: Annotated[
        int, Setting("Quiet time after file events.", unit="milliseconds", least=0)
    ] = 1500
    interval_minutes: Annotated[
        int,
        Setting(
            "Time between two syncs; with 0 there is only the full check every ten minutes.",
            unit="minutes",
            least=0,
        ),
    ] = 0
    sessions: SessionSync = SessionSync()


class Mmr(Settings, frozen=True, kw_only=True):
    """Maximal marginal relevance."""

    enabled: Annotated[bool, Setting("Prefer hits that differ from those before.")] = False
    lambda_: Annotated[float, Setting("How much: 1 is relevance alone.", least=0, most=1)] = msgspec.field(
        name="lambda", default=0.7
    )


class TemporalDecay(Settings, frozen=True, kw_only=True):
    """Recency."""

    enabled: Annotated[bool, Setting("Dated notes count less with age.")] = False
    half_life_days: Annotated[
        float,
        Setting("Days after which a dated note counts half.", unit="days", least=1),
    ] = 30


class Hybrid(Settings, frozen=True, kw_only=True):
    """How keyword and vector search are weighed; the weights add up to 1.

    Their defaults are OpenClaw's and fit its formula: `normalized` has weights of its own (docs/ranking.md) unless a
    file sets some.
    """

    enabled: Annotated[
        bool,
        Setting("Keyword and vector search; off, vector search alone if there are vectors."),
    ] = True
    fusion: Annotated[
        Fusion,
        Setting("How both are combined: `weighted` is OpenClaw's formula; see [ranking.md](ranking.md)."),
    ] = "normalized"
    vector_weight: Annotated[
        float,
        Setting("Weight of vector search; `normalized` uses 0.35 unless you set a weight.", least=0, most=1),
    ] = 0.7
    text_weight: Annotated[float, Setting("Share of keyword search.", least=0, most=1)] = 0.3
    candidate_multiplier: Annotated[
        int,
        Setting("Kept for OpenClaw; the number of candidates is fixed.", least=1, most=20),
    ] = 4
    mmr: Mmr = Mmr()
    temporal_decay: TemporalDecay = TemporalDecay()
    weights_set: Annotated[bool, Derived("vector_weight", "text_weight")] = False


class QuerySettings(Settings, frozen=True, kw_only=True):
    """How much a search returns."""

    max_results: Annotated[int, Setting("Hits, if the request doesn't say.", least=1)] = 6
    min_score: Annotated[
        float,
        Setting(
            'No hit scores lower; applies if you set it, and with `fusion: "weighted"`.', least=0, most=1
        ),
    ] = 0.35
    hybrid: Annotated[Hybrid, REFUSED] = Hybrid()
    min_score_set: Annotated[bool, Derived("min_score")] = False


class MemorySearch(Settings, frozen=True, kw_only=True):
    """All settings of one agent's memory search."""

    enabled: Annotated[
        bool,
        Setting("Whether the agent has a searchable memory; off, requests answer `memory_disabled`."),
    ] = True
    sources: Annotated[
        tuple[Source, ...],
        Setting(
            "What is memory; with `sessions` (and `experimental.sessionMemory`) transcripts are, too: see "
            "[openclaw.md](openclaw.md#search-transcripts).",
            kind='a list of "memory", "sessions"',
        ),
    ] = ("memory",)
    extra_paths: Annotated[
        tuple[ExtraPath, ...],
        Setting(
            "More Markdown: paths, or objects with a `path` and a glob `pattern`; relative ones start at the "
            "workspace.",
            kind="a list of paths, or of objects with a path and a pattern",
        ),
    ] = ()
    experimental: Experimental = Experimental()
    chunking: Annotated[Chunking, REFUSED] = Chunking()
    store: Store = Store()
    cache: Cache = Cache()
    provider: Annotated[
        str,
        Setting(
            "The embedding provider: `auto`, `none` (keyword search alone), a provider of "
            "[remote-providers.md](remote-providers.md), or an id of `models.providers`."
        ),
    ] = "auto"
    model: Annotated[
        str,
        Setting(
            "The model's name as the provider has it; for `local` see `local.modelPath`.",
            default="the provider's own",
        ),
    ] = ""
    fallback: Annotated[
        str, Setting("The embedding provider while the first can't: a provider's name or id, or `none`.")
    ] = "none"
    query_input_type: Annotated[
        str | None,
        Setting(
            "The `input_type` of queries: for Voyage instead of `query`, for compatible endpoints that need one.",
            default="`inputType`",
        ),
    ] = None
    document_input_type: Annotated[
        str | None,
        Setting(
            "The `input_type` of chunks, likewise; another value is another vector space.",
            default="`inputType`",
        ),
    ] = None
    input_type: Annotated[str | None, Setting("Either of them, if it isn't set.")] = None
    output_dimensionality: Annotated[
        AtLeast1 | None,
        Setting(
            "The size of vectors, if the model offers several; another size is another vector space.",
            default="the model's own",
            drops_fraction=True,
        ),
    ] = None
    local: Local = Local()
    remote: Remote | None = None
    sync: Annotated[Sync, REFUSED] = Sync()
    query: QuerySettings = QuerySettings()


class DaemonSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`memd.toml`: the daemon's own settings, snake_case."""

    socket: Annotated[
        str | None,
        Setting(
            "Where to listen; clients find it by `MEMD_SOCKET`.", default="see [protocol.md](protocol.md)"
        ),
    ] = None
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Setting("The least severe events that are logged."),
    ] = "info"
    memory_budget_mb: Annotated[
        AtLeast0 | None,
        Setting(
            "RAM for the vectors of all agents; the least recently searched are evicted first, and searched on disk. "
            "`memctl status` shows what is in use.",
            unit="MB",
            default="a sixteenth of the machine's RAM, 64 to 1024",
        ),
    ] = None
    model_memory_mb: Annotated[
        AtLeast0,
        Setting(
            "RAM for the local models of all agents; a model that doesn't fit beside another waits or evicts it. "
            "0: half of the machine's RAM.",
            unit="MB",
        ),
    ] = 0
    model_keep_alive_minutes: Annotated[
        float,
        msgspec.Meta(ge=0),
        Setting("How long an unused model stays loaded; 0: as long as the daemon runs.", unit="minutes"),
    ] = 30
    pause_on_battery: Annotated[
        bool,
        Setting(
            "While the machine runs on battery a local model embeds the newest few texts of a change; a backlog waits "
            "for mains power. `memctl index` doesn't wait."
        ),
    ] = True
    model_threads: Annotated[AtLeast0, Setting("Threads of a model; 0: the physical cores, at most 8.")] = 0
    query_embed_timeout_ms: Annotated[
        AtLeast1,
        Setting(
            "How long a search waits for the query's vector; then it uses keyword search alone.",
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
            "How changes of files are noticed: `inotify` on Linux, `watchfiles` (the system's file events through that "
            "library), `poll` (periodic looks), or `auto`: `inotify` on Linux and `watchfiles` elsewhere."
        ),
    ] = "auto"
    max_file_mb: Annotated[
        AtLeast1,
        Setting(
            "A larger note is indexed up to here and a larger transcript not at all; status says so. Notes and facts "
            "that memd writes continue in a next file.",
            unit="MB",
        ),
    ] = 16
    max_agent_files: Annotated[
        AtLeast1,
        Setting(
            "Files and transcripts indexed for one agent; the oldest beyond that are left out, and status says so. "
            "Files that memd writes are indexed first."
        ),
    ] = 20_000
    max_agent_mb: Annotated[AtLeast1, Setting("Likewise, their size together.", unit="MB")] = 1024
    daily_token_budget: Annotated[
        AtLeast0,
        Setting(
            "Most tokens sent to all remote providers in a day (UTC); then none until midnight. 0: no limit.",
            unit="tokens",
        ),
    ] = 20_000_000
    vector_cache_mb: Annotated[
        AtLeast0,
        Setting(
            "Vectors that no chunk uses, kept in one agent's index: going back to a model costs nothing.",
            unit="MB",
        ),
    ] = 256
