"""Mistral's embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memd.embedding.remote.providers.api import TextKind
from memd.embedding.remote.providers.openai_shape import OpenAIShape


class MistralApi(OpenAIShape):
    """`POST /embeddings`, in OpenAI's shape with fewer fields."""

    def fields(self, texts: Sequence[str], kind: TextKind) -> dict[str, Any]:
        """Return the fields of a request for some texts."""
        endpoint = self._endpoint
        fields: dict[str, Any] = {"model": endpoint.model, "input": list(texts)}
        if endpoint.dims is not None:
            fields["output_dimension"] = endpoint.dims
        return fields
