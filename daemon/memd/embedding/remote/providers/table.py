"""The HTTP interface of each provider."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from memd.embedding.remote.endpoint import Endpoint
from memd.embedding.remote.providers.api import EmbeddingApi
from memd.embedding.remote.providers.gemini import GeminiApi
from memd.embedding.remote.providers.ollama import OllamaApi
from memd.embedding.remote.providers.openai import FIELDS, OpenAIApi

APIS: Final[Mapping[str, Callable[[Endpoint], EmbeddingApi]]] = {
    **{name: partial(OpenAIApi, fields=fields) for name, fields in FIELDS.items()},
    "gemini": GeminiApi,
    "ollama": OllamaApi,
}
