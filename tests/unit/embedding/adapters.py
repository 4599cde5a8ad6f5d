"""Every provider's adapter, made for an address nobody is behind."""

from __future__ import annotations

from typing import Any

from memd.embedding.remote.providers.api import EmbeddingApi, Endpoint
from memd.embedding.remote.providers.compatible import CompatibleApi
from memd.embedding.remote.providers.gemini import GeminiApi
from memd.embedding.remote.providers.mistral import MistralApi
from memd.embedding.remote.providers.ollama import OllamaApi
from memd.embedding.remote.providers.openai import OpenAIApi
from memd.embedding.remote.providers.voyage import VoyageApi
from memd.embedding.secret import Secret

KEY = "sk-proj-0123456789abcdefghijklmn"

ADAPTERS: dict[str, type[Any]] = {
    "openai": OpenAIApi,
    "gemini": GeminiApi,
    "voyage": VoyageApi,
    "mistral": MistralApi,
    "ollama": OllamaApi,
    "compatible": CompatibleApi,
}


def adapter(name: str, **fields: Any) -> EmbeddingApi:
    """Return an adapter; `fields` are those of its endpoint that matter."""
    facts = {"model": "a-model", "base_url": "https://host.test/v1", "key": Secret(KEY), **fields}
    api: EmbeddingApi = ADAPTERS[name](Endpoint(name, **facts))
    return api
