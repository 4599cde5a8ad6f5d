"""Any server that speaks as OpenAI does: LM Studio, vLLM, llama.cpp, LiteLLM, TEI and many more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memd.embedding.remote.providers.api import TextKind
from memd.embedding.remote.providers.openai_shape import OpenAIShape


class CompatibleApi(OpenAIShape):
    """`POST /embeddings` with what all of them understand; no key where none is set."""

    def fields(self, texts: Sequence[str], kind: TextKind) -> dict[str, Any]:
        """Return the fields of a request for some texts."""
        endpoint = self._endpoint
        fields: dict[str, Any] = {
            "model": endpoint.model,
            "input": list(texts),
            "encoding_format": "float",
        }
        if endpoint.dims is not None:
            fields["dimensions"] = endpoint.dims
        input_type = endpoint.query_type if kind == "query" else endpoint.document_type
        if input_type:
            fields["input_type"] = input_type
        return fields
