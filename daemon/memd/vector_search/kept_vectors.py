"""Vectors of texts that are no chunks, such as facts: kept in the agent's cache, so that nothing is embedded twice.

They count as vectors that are not in use: `vector_cache_mb` bounds them.
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

KIND = "text by itself\n"
"""Stands before a text where its hash is made: a chunk of the same words is embedded with its headings."""


async def embed_kept(
    index: IndexFile, side: ActiveProvider, texts: Sequence[str], clock: Clock
) -> NDArray[np.float32]:
    """Return vectors of texts, embedding those that have none yet.

    Cancellation: what was embedded until then may be kept.
    """
    hashes = [hash_text(KIND + text) for text in texts]
    known: dict[str, NDArray[np.float32]] = {}
    with suppress(MemdError):  # a cache that can't be read costs a call, no answer
        known = await index.read(lambda db: vectors_of_texts(db, side.space.id, hashes))
    missing = {digest: text for digest, text in zip(hashes, texts, strict=True) if digest not in known}
    if missing:
        made = await side.provider.embed_batch(list(missing.values()))
        rows = dict(zip(missing, made, strict=True))
        if known and next(iter(known.values())).shape != made[0].shape:
            known = dict(zip(hashes, await side.provider.embed_batch(list(texts)), strict=True))
        else:
            known |= rows
            await _keep(index, side, list(rows), made, clock)
    return np.stack([known[digest] for digest in hashes]).astype(np.float32)


async def keep_vector(
    index: IndexFile, side: ActiveProvider, text: str, row: NDArray[np.float32], clock: Clock
) -> bool:
    """Keep a vector somebody else made of a text; say whether it was."""
    length = float(np.linalg.norm(row))
    if not np.isfinite(length) or length == 0:
        return False
    unit = (row / length).astype(np.float32).reshape(1, -1)
    return await _keep(index, side, [hash_text(KIND + text)], unit, clock)


async def _keep(
    index: IndexFile, side: ActiveProvider, hashes: list[str], rows: NDArray[np.float32], clock: Clock
) -> bool:
    """Store vectors; say whether that worked. Before the index has any of its own nothing is: they come first."""

    def store(db: Database) -> bool:
        if active_space(db) is None:
            return False
        store_vectors(db, side.space, hashes, rows, clock())
        return True

    try:
        return await index.write(store)
    except MemdError:
        return False
