"""The providers memd knows: their addresses, models, limits and names, in one table."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, replace
from typing import Final, Literal
from urllib.parse import urlsplit

from memd.embedding.provider import BatchLimits

Dialect = Literal["openai", "gemini", "voyage", "mistral", "ollama", "compatible"]
"""The HTTP interfaces that are spoken."""


@dataclass(frozen=True, slots=True)
class KnownProvider:
    """What is known of a provider before anything is asked of it.

    `base_url` is empty where only the user knows it. Of `key_variables` the first that is set wins.
    `entry_names` are its names in `models.providers` and in auth profiles; `model_prefixes` may stand before
    a model's name in the settings and are no part of it. `metered` says that tokens cost money, `has_bulk`
    that there is a batch interface.
    """

    name: Dialect
    default_model: str
    base_url: str
    key_variables: tuple[str, ...]
    entry_names: tuple[str, ...]
    model_prefixes: tuple[str, ...]
    limits: BatchLimits
    needs_key: bool
    metered: bool
    has_bulk: bool


# Tokens are estimated, and an estimate may be a third too low for code and names: limits are about two thirds of
# what the provider allows. What is refused all the same is halved by `embed_around`.
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
    needs_key=True,
    metered=True,
    has_bulk=True,
)
GEMINI: Final = KnownProvider(
    name="gemini",
    default_model="gemini-embedding-001",
    base_url="https://generativelanguage.googleapis.com/v1beta",
    key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    entry_names=("google", "gemini", "google-ai", "google-generative-ai"),
    model_prefixes=("models/", "google/", "gemini/"),
    # 100 texts of 2,048 tokens; for the sum no limit is known, the number is what 100 such texts come to
    limits=BatchLimits(100, 140_000, 1400, _CLOUD_CONCURRENCY),
    needs_key=True,
    metered=True,
    has_bulk=True,
)
VOYAGE: Final = KnownProvider(
    name="voyage",
    default_model="voyage-4-large",
    base_url="https://api.voyageai.com/v1",
    key_variables=("VOYAGE_API_KEY",),
    entry_names=("voyage", "voyageai", "voyage-ai"),
    model_prefixes=("voyage/", "voyageai/"),
    # 1,000 texts, 32,000 tokens a text and 120,000 a request, more for the small models: see `limits_of`
    limits=BatchLimits(1000, 80_000, 21_000, _CLOUD_CONCURRENCY),
    needs_key=True,
    metered=True,
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
    needs_key=True,
    metered=True,
    has_bulk=False,
)
OLLAMA: Final = KnownProvider(
    name="ollama",
    default_model="nomic-embed-text",
    base_url="http://127.0.0.1:11434",
    key_variables=("OLLAMA_API_KEY",),
    entry_names=("ollama",),
    model_prefixes=("ollama/",),
    # A second call beside the first is answered 500. Small batches let a question through soon. Its models are
    # loaded with a context of 2,048 tokens at least, whatever the model itself could take.
    limits=BatchLimits(16, 22_000, 1400, 1),
    needs_key=False,
    metered=False,
    has_bulk=False,
)
COMPATIBLE: Final = KnownProvider(
    name="compatible",
    default_model="",
    base_url="",
    key_variables=(),
    entry_names=(),
    model_prefixes=(),
    # Nothing is known: what the servers people run (vLLM, llama.cpp, LM Studio, TEI) take without tuning. All of them
    # but TEI take more texts as well, which is found out by asking.
    limits=BatchLimits(32, 16_000, 5500, _CLOUD_CONCURRENCY, quick_texts=128),
    needs_key=False,
    metered=True,
    has_bulk=False,
)

KNOWN: Final[dict[str, KnownProvider]] = {
    known.name: known for known in (OPENAI, GEMINI, VOYAGE, MISTRAL, OLLAMA, COMPATIBLE)
}
AUTO_ORDER: Final = ("openai", "gemini", "voyage", "mistral")
"""Who is asked for by `auto`, after local models: the first that has a key."""

_VOYAGE_TOKENS: Final = (
    # Longest beginning first: 1,000,000 tokens a request for the lite models, 320,000 for the middle ones
    ("voyage-4-lite", 660_000),
    ("voyage-3.5-lite", 660_000),
    ("voyage-4-large", 80_000),
    ("voyage-4", 210_000),
    ("voyage-3.5", 210_000),
    ("voyage-2", 210_000),
)
_VOYAGE_SHORT: Final = ("voyage-law-2", "voyage-code-2", "voyage-large-2")
"""Models that take 16,000 tokens a text."""

_VOYAGE_SHORTEST: Final = ("voyage-2", "voyage-02")
"""Models that take 4,000."""

_APIS: Final[dict[str, Dialect]] = {
    "openai-completions": "compatible",
    "openai-responses": "compatible",
    "openai": "compatible",
    "google-generative-ai": "gemini",
    "ollama": "ollama",
}
"""Values of `models.providers.<id>.api` that say how embeddings are asked for."""


def limits_of(known: KnownProvider, model: str) -> BatchLimits:
    """Return what a request may carry, by model where it differs."""
    limits = known.limits
    if known.name == "voyage":
        tokens = next((size for start, size in _VOYAGE_TOKENS if model.startswith(start)), limits.max_tokens)
        text = limits.max_text_tokens
        text = 10_500 if model.startswith(_VOYAGE_SHORT) else 2700 if model in _VOYAGE_SHORTEST else text
        return replace(limits, max_tokens=tokens, max_text_tokens=text)
    if known.name == "gemini" and model.startswith("gemini-embedding-2"):
        return replace(limits, max_text_tokens=5500)  # takes 8,192
    return limits


def dialect_of_api(api: str, provider_id: str) -> Dialect | None:
    """Return how an entry of `models.providers` is spoken to."""
    named = provider_id.strip().lower()
    for known in KNOWN.values():
        if named in known.entry_names:
            return known.name
    wanted = api.strip().lower()
    if wanted in _APIS:
        return _APIS[wanted]
    # an entry that names no interface is an OpenAI-shaped server: so OpenClaw reads it, too
    return "compatible" if not wanted else None


def is_loopback(base_url: str) -> bool:
    """Return whether an address is on this machine, so that no proxy stands before it."""
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
