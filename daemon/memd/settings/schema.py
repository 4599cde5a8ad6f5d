"""Typed settings: of an agent's memory search, and of the daemon itself. Every default stands here once.

Keys are those of OpenClaw's `memory.search`, camelCase in the file. Where a default is not stated by
OpenClaw's documentation it is ours, and its unit is in its name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

Source = Literal["memory", "sessions"]
Fusion = Literal["normalized", "weighted", "rrf"]


class Settings(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Root of all settings: read-only, camelCase outside."""


class ExtraPath(Settings, frozen=True, kw_only=True):
    """A folder or file outside the workspace's memory; `pattern` is a glob below it."""

    path: str
    pattern: str | None = None


class Batch(Settings, frozen=True, kw_only=True):
    """A provider's asynchronous batch API.

    `enabled_set` tells the user's own `enabled` from the default: an address that isn't the provider's own gets
    batches only where somebody asked for them.
    """

    enabled: bool = True
    wait: bool = True
    concurrency: int = 2
    poll_interval_ms: int = 2000
    timeout_minutes: int = 60
    enabled_set: bool = False


class Remote(Settings, frozen=True, kw_only=True):
    """Where a remote provider is, and how to speak to it.

    `${NAME}` in the key, the address or a header's value stands for an environment variable.
    """

    base_url: str | None = None
    api_key: str | None = None
    headers: dict[str, str] | None = None
    batch: Batch = Batch()

    def __repr__(self) -> str:
        """Return the settings without the key and the headers' values: they must not reach a log."""
        return f"Remote({_hidden(self.base_url, self.api_key, self.headers)}, batch={self.batch!r})"


class ProviderEntry(Settings, frozen=True, kw_only=True):
    """One of OpenClaw's `models.providers`: its id, and what embeddings need of it.

    `api` names the protocol it speaks, `models` are the ids of its models. As in `Remote`, `${NAME}` stands for
    an environment variable.
    """

    id: str
    base_url: str | None = None
    api_key: str | None = None
    api: str | None = None
    headers: dict[str, str] | None = None
    models: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return the entry without the key and the headers' values: they must not reach a log."""
        facts = _hidden(self.base_url, self.api_key, self.headers)
        return f"ProviderEntry(id={self.id!r}, {facts}, api={self.api!r}, models={self.models!r})"


def _hidden(base_url: str | None, api_key: str | None, headers: Mapping[str, str] | None) -> str:
    """Return for a repr where a provider is; of key and headers only that they are there."""
    address = base_url and re.sub(r"(?<=//).*@|[?#].*", "", base_url, flags=re.DOTALL)
    key = "set" if api_key else "none"
    return f"base_url={address!r}, api_key=<{key}>, headers={sorted(headers or {})}"


class Experimental(Settings, frozen=True, kw_only=True):
    """Off unless asked for."""

    session_memory: bool = False


class Local(Settings, frozen=True, kw_only=True):
    """The local model: a path, `hf:…`, `https:…` or `minilm`."""

    model_path: str | None = None
    model_cache_dir: str | None = None


class VectorStore(Settings, frozen=True, kw_only=True):
    """sqlite-vec."""

    enabled: bool = True
    extension_path: str | None = None


class Store(Settings, frozen=True, kw_only=True):
    """The index file."""

    driver: Literal["sqlite"] = "sqlite"
    path: str = ""
    vector: VectorStore = VectorStore()


class Chunking(Settings, frozen=True, kw_only=True):
    """Size of a chunk and what it shares with the one before, in tokens.

    `sizes_set` tells the user's own sizes from the defaults, which are OpenClaw's: without any, notes are cut into
    passages.
    """

    tokens: int = 400
    overlap: int = 80
    sizes_set: bool = False


class SessionSync(Settings, frozen=True, kw_only=True):
    """How much a transcript grows before it is read again."""

    delta_bytes: int = 100_000
    delta_messages: int = 50


class Sync(Settings, frozen=True, kw_only=True):
    """When the index follows the files."""

    on_session_start: bool = True
    on_search: bool = True
    watch: bool = True
    watch_debounce_ms: int = 1500
    interval_minutes: int = 0
    sessions: SessionSync = SessionSync()


class Mmr(Settings, frozen=True, kw_only=True):
    """Maximal marginal relevance: `lambda` 1 is relevance alone."""

    enabled: bool = False
    lambda_: float = msgspec.field(name="lambda", default=0.7)


class TemporalDecay(Settings, frozen=True, kw_only=True):
    """Recency: a dated note of `half_life_days` counts half."""

    enabled: bool = False
    half_life_days: float = 30


class Hybrid(Settings, frozen=True, kw_only=True):
    """How words and meaning are weighed; the weights add up to 1.

    `weights_set` tells the user's own weights from the defaults, which are OpenClaw's and fit its formula:
    `normalized` has weights of its own (docs/ranking.md) unless the user set some.
    """

    enabled: bool = True
    vector_weight: float = 0.7
    text_weight: float = 0.3
    candidate_multiplier: int = 4
    fusion: Fusion = "normalized"
    mmr: Mmr = Mmr()
    temporal_decay: TemporalDecay = TemporalDecay()
    weights_set: bool = False


class Rerank(Settings, frozen=True, kw_only=True):
    """A local reranker, named as in `Local`: of so many best hits it reads what `timeout_ms` leaves time for."""

    enabled: bool = False
    model: str = ""
    candidates: int = 20
    timeout_ms: int = 300


class Query(Settings, frozen=True, kw_only=True):
    """How much a search returns. `min_score_set` tells the user's own threshold from the default."""

    max_results: int = 6
    min_score: float = 0.35
    hybrid: Hybrid = Hybrid()
    rerank: Rerank = Rerank()
    min_score_set: bool = False


class Cache(Settings, frozen=True, kw_only=True):
    """Vectors kept after their text is gone."""

    enabled: bool = True
    max_entries: int | None = None


AtLeast0 = Annotated[int, msgspec.Meta(ge=0)]
AtLeast1 = Annotated[int, msgspec.Meta(ge=1)]


class MemorySearch(Settings, frozen=True, kw_only=True):
    """All settings of one agent's memory search, resolved.

    `query_input_type` and `document_input_type` are what a provider is told a text is, None for its usual words;
    `input_type` stands for either where it is not set. `output_dimensionality` is the size asked for, None for
    the model's own.
    """

    enabled: bool = True
    sources: tuple[Source, ...] = ("memory",)
    extra_paths: tuple[ExtraPath, ...] = ()
    provider: str = "auto"
    remote: Remote | None = None
    experimental: Experimental = Experimental()
    fallback: str = "none"
    model: str = ""
    input_type: str | None = None
    query_input_type: str | None = None
    document_input_type: str | None = None
    output_dimensionality: AtLeast1 | None = None
    local: Local = Local()
    store: Store = Store()
    chunking: Chunking = Chunking()
    sync: Sync = Sync()
    query: Query = Query()
    cache: Cache = Cache()


class DaemonSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`memd.toml`: the daemon's own settings, snake_case.

    `memory_budget_mb` bounds the matrices of all agents together (unset: by the machine's memory, see `memory_budget`);
    `model_keep_alive_minutes` is how long an unused model stays loaded (0: as long as the daemon runs);
    `model_threads` 0 means as many as fit;
    `model_memory_mb` bounds the local models in memory together (0: half of the machine's memory).
    `daily_token_budget` is how many tokens may be bought of remote providers in a day, UTC, by all agents
    together (0: no limit). `vector_cache_mb` bounds the vectors kept for later: those that no chunk of the
    answering or the filling vector space uses.
    `max_agent_files` and `max_agent_mb` bound what one agent has indexed, the newest first.
    `pause_on_battery`: whether a backlog of local embeddings waits for mains.
    """

    socket: str | None = None
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    memory_budget_mb: AtLeast0 | None = None
    model_keep_alive_minutes: Annotated[float, msgspec.Meta(ge=0)] = 30
    model_threads: AtLeast0 = 0
    model_memory_mb: AtLeast0 = 0
    pause_on_battery: bool = True
    daily_token_budget: AtLeast0 = 20_000_000
    vector_cache_mb: AtLeast0 = 256
    query_embed_timeout_ms: AtLeast1 = 2000
    catch_up_ms: AtLeast0 = 150
    max_file_mb: AtLeast1 = 16
    max_agent_files: AtLeast1 = 20_000
    max_agent_mb: AtLeast1 = 1024


KEY_KINDS = 'a string, or {source: "env", id: "NAME"}'
"""What an API key may be, in words: of OpenClaw's references to secrets those to the environment."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def key_text(raw: object) -> str | None:
    """Return an API key as a text: a reference to the environment becomes `${NAME}`."""
    match raw:
        case str():
            return raw
        case {"source": "env", "id": str(name)} if _VARIABLE.fullmatch(name):
            return f"${{{name}}}"
        case _:
            return None


def describe_type(kind: object) -> str:
    """Return in words what a setting of this type may be, for an error message."""
    known = msgspec.inspect.type_info(kind)
    options = known.types if isinstance(known, msgspec.inspect.UnionType) else (known,)
    return " or ".join(
        _describe(option) for option in options if not isinstance(option, msgspec.inspect.NoneType)
    )


def _describe(kind: msgspec.inspect.Type) -> str:
    """Return in words one type of a setting."""
    match kind:
        case msgspec.inspect.LiteralType(values=values):
            return "one of " + ", ".join(f'"{value}"' for value in values)
        case msgspec.inspect.IntType(ge=ge) | msgspec.inspect.FloatType(ge=ge):
            word = "a whole number" if isinstance(kind, msgspec.inspect.IntType) else "a number"
            return word if ge is None else f"{word} of at least {ge}"
        case msgspec.inspect.BoolType():
            return "true or false"
        case msgspec.inspect.StrType():
            return "a string"
        case _:
            return "an object whose values are strings"


def describe_value(value: object) -> str:
    """Return what kind of value stands in a settings file; never the value itself, which may be a secret."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case float() if not math.isfinite(value):
            return "a number that is not finite"
        case int() | float():
            return f"the number {value}" if abs(value) < 1e15 else "a very large number"
        case str():
            return "a string"
        case Mapping():
            return "an object"
        case list() | tuple():
            return "a list"
        case _:
            return f"a {type(value).__name__}"
