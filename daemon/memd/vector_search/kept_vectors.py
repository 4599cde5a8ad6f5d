"""Cached vectors of texts that are not chunks, such as facts, so that each is embedded once.

They count as unused vectors: `vector_cache_mb` limits them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from memd.index.cache import active_space, store_vectors, vectors_of_texts
from memd.index.connection import Database, IndexFile
from memd.system.clock import Clock
from memd.text.cut.chunking import hash_text
from memd.vector_search.active_provider import ActiveProvider
from memd_client.errors import MemdError

HASH_PREFIX = "text by itself\n"
"""Prefix of a text for its hash, part of stored hashes: a chunk of the same text is embedded with its headings."""


async def embed_kept(
    index: IndexFile, active: ActiveProvider, texts: Sequence[str], clock: Clock
) -> NDArray[np.float32]:
    """Return vectors of texts, embedding those without one.

    Cancellation: vectors embedded so far may be kept.
    """
    hashes = [hash_text(HASH_PREFIX + text) for text in texts]
    known: dict[str, NDArray[np.float32]] = {}
    with suppress(MemdError):  # an unreadable cache costs a request, not the answer
        known = await index.read(lambda db: vectors_of_texts(db, active.space.id, hashes))
    missing = {digest: text for digest, text in zip(hashes, texts, strict=True) if digest not in known}
    if missing:
        made = await active.provider.embed_batch(list(missing.values()))
        rows = dict(zip(missing, made, strict=True))
        if known and next(iter(known.values())).shape != made[0].shape:
            known = dict(zip(hashes, await active.provider.embed_batch(list(texts)), strict=True))
        else:
            known |= rows
            await _keep(index, active, list(rows), made, clock)
    return np.stack([known[digest] for digest in hashes]).astype(np.float32)


async def keep_vector(
    index: IndexFile, active: ActiveProvider, text: str, row: NDArray[np.float32], clock: Clock
) -> bool:
    """Keep a vector that a client made of a text; return whether it was stored."""
    length = float(np.linalg.norm(row))
    if not np.isfinite(length) or length == 0:
        return False
    unit = (row / length).astype(np.float32).reshape(1, -1)
    return await _keep(index, active, [hash_text(HASH_PREFIX + text)], unit, clock)


async def _keep(
    index: IndexFile, active: ActiveProvider, hashes: list[str], rows: NDArray[np.float32], clock: Clock
) -> bool:
    """Store vectors; return whether that worked. Nothing is stored before the index has vectors of its own."""

    def store(db: Database) -> bool:
        if active_space(db) is None:
            return False
        store_vectors(db, active.space, hashes, rows, clock())
        return True

    try:
        return await index.write(store)
    except MemdError:
        return False
