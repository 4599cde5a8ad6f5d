"""Line check: embeds a few lines and compares them with the query, if relevance is in doubt."""

from __future__ import annotations

import numpy as np
import trio
from msgspec import Struct
from numpy.typing import NDArray

from memd.embedding.provider import EmbeddingProvider
from memd.system.log import log
from memd.system.lru import LruCache
from memd_client.errors import MemdError

LINE_CHECK_TIMEOUT_S = 0.4
"""How long a search may compare lines."""

MAX_CACHED_LINES = 1_000
"""Line vectors kept in RAM."""


class LineCheck(Struct, frozen=True):
    """An open relevance check: hits are relevant if the query's cosine with a line reaches `min_cosine`."""

    lines: tuple[str, ...]
    min_cosine: float


class LineRelevance:
    """Compares lines with queries in the query's vector space; lines are embedded as queries."""

    def __init__(self) -> None:
        self._vectors: LruCache[tuple[str, str], NDArray[np.float32]] = LruCache(MAX_CACHED_LINES)

    async def is_relevant(
        self, check: LineCheck, query: NDArray[np.float32], provider: EmbeddingProvider, wait_s: float
    ) -> bool:
        """Return whether a line is close enough to the query; True if time or the provider fails."""
        with trio.move_on_after(max(0.0, min(LINE_CHECK_TIMEOUT_S, wait_s))):
            try:
                for line in check.lines:
                    if float(await self._vector(line, provider) @ query) >= check.min_cosine:
                        return True
            except MemdError as error:
                log.debug("search.lines_not_read", code=error.code)
                return True
            return False
        return True

    async def _vector(self, line: str, provider: EmbeddingProvider) -> NDArray[np.float32]:
        """Return a line's vector, cached if possible."""
        key = (provider.space.id, line)
        vector = self._vectors.get(key)
        if vector is None:
            vector = await provider.embed_query(line)
            self._vectors.put(key, vector)
        return vector
