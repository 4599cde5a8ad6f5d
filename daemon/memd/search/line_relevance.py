"""What was found, read once more by a model: whether it is relevant at all, and in which order.

Both have a deadline, and both fail open: without the model the hits stay as they are.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

import numpy as np
import structlog
import trio
from numpy.typing import NDArray

from memd.embedding.provider import EmbeddingProvider
from memd.embedding.rerank import Reranker
from memd.search.query import Found, LineCheck
from memd.settings.schema import Rerank
from memd_client.errors import MemdError
from memd_client.messages import Hit

log = structlog.get_logger(__name__)

LOOK_S = 0.4
"""How long a search takes to compare lines: eight short ones take some 30 ms, once."""

KEPT_LINES = 1_000
"""Vectors of lines that are kept: asked again, a question costs nothing more. 1.5 MB with MiniLM."""


class LineRelevance:
    """Compares single lines with questions.

    Lines are of the same vector space as the question, and are asked for as questions are: before any indexing.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], NDArray[np.float32]] = OrderedDict()

    async def is_relevant(
        self, look: LineCheck, question: NDArray[np.float32], provider: EmbeddingProvider, wait_s: float
    ) -> bool:
        """Return whether any of some lines is near enough to a question; True where there was no time to know."""
        with trio.move_on_after(max(0.0, min(LOOK_S, wait_s))):
            try:
                for line in look.lines:
                    if float(await self._vector(line, provider) @ question) >= look.cosine:
                        return True
            except MemdError as error:
                log.debug("search.lines_not_read", code=error.code)
                return True
            return False
        return True

    async def _vector(self, line: str, provider: EmbeddingProvider) -> NDArray[np.float32]:
        """Return a line's vector, as it was read before where it was."""
        key = (provider.space.id, line)
        vector = self._kept.get(key)
        if vector is None:
            vector = await provider.embed_query(line)
        self._kept[key] = vector
        self._kept.move_to_end(key)
        while len(self._kept) > KEPT_LINES:
            self._kept.popitem(last=False)
        return vector


async def rerank(found: Found, query: str, reranker: Reranker, settings: Rerank, wait_s: float) -> None:
    """Put the best hits in the order of a reranker; no hit comes before one that holds more of the very names."""
    best = found.hits[: settings.candidates]
    if len(best) < 2:
        return
    timeout_s = max(0.0, min(settings.timeout_ms / 1000, wait_s))
    scores = await reranker.score(query, [hit.snippet for hit in best], timeout_s, partial=True)
    held = found.held
    order = sorted(range(len(scores)), key=lambda at: (-held[at], -scores[at], at))
    read = [_moved(best[at], found.hits[place], scores[at]) for place, at in enumerate(order)]
    found.held = [*(held[at] for at in order), *held[len(order) :]]
    found.hits = [*read, *found.hits[len(order) :]]


def _moved(hit: Hit, there: Hit, score: float) -> Hit:
    """Return a hit with the score of the place it moves to, the reranker's own in its explanation."""
    explain = hit.explain
    if explain is not None:
        said = f"the reranker says {score:.3f}"
        explain = {**explain, "rerank": round(score, 6), "because": [*explain["because"], said]}
    return replace(hit, score=there.score, explain=explain)
