"""The known providers: their addresses, models, limits and names."""

from __future__ import annotations

import ipaddress
from typing import Final, Literal
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from memd.embedding.provider import BatchLimits

Dialect = Literal["openai", "gemini", "voyage", "mistral", "ollama", "compatible"]
"""The HTTP interfaces that are spoken."""


class KnownProvider(Struct, frozen=True):
    """The fixed data of a provider.

    `base_url` is empty if only the user knows it. Of `key_variables` the first one that is set counts. `entry_names`
    are its names in `models.providers` and in auth profiles. `model_prefixes` may precede a model's name and are
    removed. `metered` means that tokens cost money, `has_bulk` that there is a batch API. The limits are about two
    thirds of what the provider allows.
    """

    name: Dialect
    limits: BatchLimits
    default_model: str = ""
    base_url: str = ""
    key_variables: tuple[str, ...] = ()
    entry_names: tuple[str, ...] = ()
    model_prefixes: tuple[str, ...] = ()
    needs_key: bool = True
    metered: bool = True
    has_bulk: bool = False


# Token estimates may be a third too low for code and names, which is why limits are lower than what providers allow.
# Texts that are refused nevertheless are split by `embed_isolating_refusals`.
_CLOUD_CONCURRENCY: Final = 4

OPENAI: Final = KnownProvider(
    name="openai",
    default_model="text-embedding-3-small",
    base_url="https://api.openai.com/v1",
    key_variables=("OPENAI_API_KEY",),
    entry_names=("openai",),
    model_prefixes=("openai/",),
    # 2,048 texts, 8,192 tokens a text and 300,000 a request are allowed
    limits=BatchLimits(2048, 200_000, 5500, _CLOUD_CONCURRENCY),
    has_bulk=True,
)
GEMINI: Final = KnownProvider(
    name="gemini",
    default_model="gemini-embedding-001",
    base_url="https://generativelanguage.googleapis.com/v1beta",
    key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    entry_names=("google", "gemini", "google-ai", "google-generative-ai"),
    model_prefixes=("models/", "google/", "gemini/"),
    # 100 texts of 2,048 tokens are allowed; no limit of the sum is known, so it is that of 100 such texts
    limits=BatchLimits(100, 140_000, 1400, _CLOUD_CONCURRENCY),
    has_bulk=True,
)
VOYAGE: Final = KnownProvider(
    name="voyage",
    default_model="voyage-4-large",
    base_url="https://api.voyageai.com/v1",
    key_variables=("VOYAGE_API_KEY",),
    entry_names=("voyage", "voyageai", "voyage-ai"),
    model_prefixes=("voyage/", "voyageai/"),
    # 1,000 texts, 32,000 tokens a text and 120,000 a request are allowed, more for small models: see `limits_of`
    limits=BatchLimits(1000, 80_000, 21_000, _CLOUD_CONCURRENCY),
    has_bulk=True,
)
MISTRAL: Final = KnownProvider(
    name="mistral",
    default_model="mistral-embed",
    base_url="https://api.mistral.ai/v1",
    key_variables=("MISTRAL_API_KEY",),
    entry_names=("mistral", "mistralai", "mistral-ai"),
    model_prefixes=("mistral/", "mistralai/"),
    # 512 texts, 8,192 tokens a text and 16,384 a request are allowed
    limits=BatchLimits(512, 10_500, 5500, _CLOUD_CONCURRENCY),
)
OLLAMA: Final = KnownProvider(
    name="ollama",
    default_model="nomic-embed-text",
    base_url="http://127.0.0.1:11434",
    key_variables=("OLLAMA_API_KEY",),
    entry_names=("ollama",),
    model_prefixes=("ollama/",),
    # Some releases fail concurrent requests with status 500. Small batches keep the wait of queries short. Ollama loads
    # models with a context of at least 2,048 tokens.
    limits=BatchLimits(16, 22_000, 1400, 1),
    needs_key=False,
    metered=False,
)
COMPATIBLE: Final = KnownProvider(
    name="compatible",
    # Common servers (vLLM, llama.cpp, LM Studio, TEI) accept these limits with default settings. All but TEI accept
    # more texts, so `AdaptiveBatchSize` tries that.
    limits=BatchLimits(32, 16_000, 5500, _CLOUD_CONCURRENCY, quick_texts=128),
    needs_key=False,
)

KNOWN: Final[dict[str, KnownProvider]] = {
    known.name: known for known in (OPENAI, GEMINI, VOYAGE, MISTRAL, OLLAMA, COMPATIBLE)
}
AUTO_ORDER: Final = ("openai", "gemini", "voyage", "mistral")
"""The order in which `auto` tries remote providers, after local models; the first with a key is used."""

_VOYAGE_TOKENS: Final = (
    # longest prefix first; lite models allow 1,000,000 tokens a request, middle ones 320,000
    ("voyage-4-lite", 660_000),
    ("voyage-3.5-lite", 660_000),
    ("voyage-4-large", 80_000),
    ("voyage-4", 210_000),
    ("voyage-3.5", 210_000),
    ("voyage-2", 210_000),
)
_VOYAGE_SHORT: Final = ("voyage-law-2", "voyage-code-2", "voyage-large-2")
"""Models that accept 16,000 tokens a text."""

_VOYAGE_SHORTEST: Final = ("voyage-2", "voyage-02")
"""Models that accept 4,000 tokens a text."""

_APIS: Final[dict[str, Dialect]] = {
    "openai-completions": "compatible",
    "openai-responses": "compatible",
    "openai": "compatible",
    "google-generative-ai": "gemini",
    "ollama": "ollama",
}
"""The interface for each value of `models.providers.<id>.api`."""


def limits_of(known: KnownProvider, model: str) -> BatchLimits:
    """Return the limits of requests to a model."""
    limits = known.limits
    if known.name == "voyage":
        tokens = next((size for start, size in _VOYAGE_TOKENS if model.startswith(start)), limits.max_tokens)
        text = limits.max_text_tokens
        text = 10_500 if model.startswith(_VOYAGE_SHORT) else 2700 if model in _VOYAGE_SHORTEST else text
        return replace(limits, max_tokens=tokens, max_text_tokens=text)
    if known.name == "gemini" and model.startswith("gemini-embedding-2"):
        return replace(limits, max_text_tokens=5500)  # accepts 8,192
    return limits


def dialect_of_api(api: str, provider_id: str) -> Dialect | None:
    """Return the interface of a `models.providers` entry, None without embeddings."""
    named = provider_id.strip().lower()
    for known in KNOWN.values():
        if named in known.entry_names:
            return known.name
    wanted = api.strip().lower()
    if wanted in _APIS:
        return _APIS[wanted]
    # without `api` an entry is a server compatible with OpenAI, as in OpenClaw
    return "compatible" if not wanted else None


def is_loopback(base_url: str) -> bool:
    """Return whether an address is on this machine, so that no proxy applies."""
    try:
        host = (urlsplit(base_url).hostname or "").rstrip(".")
    except ValueError:
        return False
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback
