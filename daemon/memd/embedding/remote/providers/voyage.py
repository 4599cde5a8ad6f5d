"""Voyage's embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memd.embedding.remote.providers.api import TextKind
from memd.embedding.remote.providers.openai_shape import OpenAIShape


class VoyageApi(OpenAIShape):
    """`POST /embeddings`; questions and documents are told apart, and nothing is cut short."""

    def fields(self, texts: Sequence[str], kind: TextKind) -> dict[str, Any]:
        """Return the fields of a request for some texts."""
        endpoint = self._endpoint
        own_type = endpoint.query_type if kind == "query" else endpoint.document_type
        fields: dict[str, Any] = {
            "model": endpoint.model,
            "input": list(texts),
            "input_type": own_type or kind,
            "truncation": False,
        }
        if endpoint.dims is not None:
            fields["output_dimension"] = endpoint.dims
        return fields
