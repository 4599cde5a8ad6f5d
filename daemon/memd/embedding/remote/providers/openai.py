"""OpenAI's embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memd.embedding.remote.providers.api import TextKind
from memd.embedding.remote.providers.openai_shape import OpenAIShape


class OpenAIApi(OpenAIShape):
    """`POST /embeddings`, vectors in base64: a third of the bytes, and exact."""

    def fields(self, texts: Sequence[str], kind: TextKind) -> dict[str, Any]:
        """Return the fields of a request for some texts."""
        endpoint = self._endpoint
        fields: dict[str, Any] = {
            "model": endpoint.model,
            "input": list(texts),
            "encoding_format": "base64",
        }
        if endpoint.dims is not None:
            fields["dimensions"] = endpoint.dims
        return fields
