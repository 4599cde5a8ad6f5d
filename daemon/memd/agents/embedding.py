"""Vectors of texts from an agent's provider, for clients."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memd.agents.open_agent import OpenAgent
from memd.system.clock import Clock
from memd.vector_search import kept_vectors
from memd_client.errors import MemdError, ProviderUnavailableError
from memd_client.messages import EmbedParams, EmbedReply


async def embed_texts(opened: OpenAgent, params: EmbedParams, clock: Clock, timeout_s: float) -> EmbedReply:
    """Return vectors of texts, waiting `timeout_s` at most."""
    target = opened.vector_search.target
    if target is None:
        problem = opened.vector_search.problem
        if problem is not None:
            raise MemdError.from_wire(problem.to_wire())
        raise ProviderUnavailableError("embeddings are turned off for this agent")
    provider = target.provider

    async def call() -> NDArray[np.float32]:
        if params.kind == "query" and params.texts:
            return np.stack([await provider.embed_query(text) for text in params.texts])
        if params.keep:
            return await kept_vectors.embed_kept(opened.index_file, target, params.texts, clock)
        return await provider.embed_batch(params.texts)

    key = (target.space.id, f"embed {params.kind}", *params.texts)
    matrix = await opened.vector_search.wait_for(target, key, call, timeout_s)
    dims = int(matrix.shape[1]) if params.texts else 0
    packed = matrix.astype("<f4").tobytes()
    return EmbedReply(provider.id, provider.model, len(params.texts), dims, packed)


async def keep_vector(opened: OpenAgent, text: str, model: str, vector: bytes, clock: Clock) -> bool:
    """Keep a vector that a client computed, if the provider has the same model; return whether it was kept."""
    target = opened.vector_search.target
    if target is None or target.provider.model != model or not vector or len(vector) % 4:
        return False
    row = np.frombuffer(vector, dtype="<f4")
    return await kept_vectors.keep_vector(opened.index_file, target, text, row, clock)
