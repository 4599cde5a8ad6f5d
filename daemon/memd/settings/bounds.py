"""Settings brought within their bounds: whatever a file says, what comes out of here can be worked with."""

from __future__ import annotations

import math

import msgspec

from memd.settings.schema import Chunking, Hybrid, Query, Remote, Rerank, Sync

REMOTE_PROVIDERS = frozenset({"openai", "gemini", "voyage", "mistral", "auto"})
"""Providers whose remote settings (at least the batch defaults) are present with nothing configured."""

MOST_RERANKED = 100
"""Most hits a reranker reads: there are about as many candidates."""


def bound_remote(remote: Remote, provider: str) -> Remote | None:
    """Return the remote settings where a remote provider may be used or one was described, else None."""
    described = remote.base_url or remote.api_key or remote.headers is not None
    if not described and provider not in REMOTE_PROVIDERS:
        return None
    batch = msgspec.structs.replace(
        remote.batch,
        concurrency=max(1, remote.batch.concurrency),
        poll_interval_ms=max(0, remote.batch.poll_interval_ms),
        timeout_minutes=max(0, remote.batch.timeout_minutes),
    )
    return msgspec.structs.replace(remote, batch=batch)


def bound_chunking(chunking: Chunking) -> Chunking:
    """Return chunk sizes that make progress: at least one token, the overlap smaller than the chunk."""
    tokens = max(1, chunking.tokens)
    overlap = max(0, min(chunking.overlap, tokens - 1))
    return msgspec.structs.replace(chunking, tokens=tokens, overlap=overlap)


def bound_sync(sync: Sync) -> Sync:
    """Return waiting times and growths that are not negative."""
    return msgspec.structs.replace(
        sync,
        watch_debounce_ms=max(0, sync.watch_debounce_ms),
        interval_minutes=max(0, sync.interval_minutes),
        sessions=msgspec.structs.replace(
            sync.sessions,
            delta_bytes=max(0, sync.sessions.delta_bytes),
            delta_messages=max(0, sync.sessions.delta_messages),
        ),
    )


def bound_query(query: Query) -> Query:
    """Return query settings in their ranges."""
    return msgspec.structs.replace(
        query,
        max_results=max(1, query.max_results),
        min_score=_clamped(query.min_score),
        hybrid=_bound_hybrid(query.hybrid),
        rerank=_bound_rerank(query.rerank),
    )


def _bound_rerank(rerank: Rerank) -> Rerank:
    """Return a reranker's settings in their ranges."""
    candidates = max(1, min(MOST_RERANKED, rerank.candidates))
    return msgspec.structs.replace(rerank, candidates=candidates, timeout_ms=max(1, rerank.timeout_ms))


def _bound_hybrid(hybrid: Hybrid) -> Hybrid:
    """Return weights in 0..1 that add up to 1, and the other numbers in their ranges."""
    vector, text = _clamped(hybrid.vector_weight), _clamped(hybrid.text_weight)
    total = vector + text
    usual = Hybrid()
    return msgspec.structs.replace(
        hybrid,
        vector_weight=vector / total if total > 0 else usual.vector_weight,
        text_weight=text / total if total > 0 else usual.text_weight,
        candidate_multiplier=max(1, min(hybrid.candidate_multiplier, 20)),
        mmr=msgspec.structs.replace(hybrid.mmr, lambda_=_clamped(hybrid.mmr.lambda_)),
        temporal_decay=msgspec.structs.replace(
            hybrid.temporal_decay,
            half_life_days=max(1, math.floor(hybrid.temporal_decay.half_life_days)),
        ),
    )


def _clamped(value: float) -> float:
    """Return the nearest value in 0..1."""
    return max(0.0, min(value, 1.0))
