"""Failed commands of an agent's sessions whose errors resemble a text, by their vectors."""

from __future__ import annotations

import numpy as np
import trio

from memd.agents.open_agent import OpenAgent
from memd.index.work import EVERYTHING, WorkRow, WorkScope, find_failures
from memd.system.clock import Clock
from memd.vector_search import kept_vectors
from memd_client.errors import MemdError

MAX_FAILURES = 2_000
"""Distinct errors that are compared, the newest ones."""

MAX_FAILURE_CHARS = 600
"""Characters of a failure that are embedded: models read little more."""

BATCH_FAILURES = 32


async def find_similar_failures(
    opened: OpenAgent, text: str, clock: Clock, timeout_s: float, scope: WorkScope = EVERYTHING
) -> list[tuple[WorkRow, float]]:
    """Return failed commands, one for each error, with the cosines of a text and their errors, the nearest first.

    Vectors are computed when they are first needed and cached. What can't be embedded in time is missing; without an
    embedding provider the list is empty.
    """
    target = opened.vector_search.target
    failures = await opened.index_file.read(lambda db: find_failures(db, MAX_FAILURES, scope))
    cosines: list[tuple[WorkRow, float]] = []
    if target is None or not failures:
        return cosines
    with trio.move_on_after(timeout_s):
        try:
            query = await target.provider.embed_query(text[:MAX_FAILURE_CHARS])
            for start in range(0, len(failures), BATCH_FAILURES):
                batch = failures[start : start + BATCH_FAILURES]
                texts = [embedded_failure(row) for row in batch]
                matrix = await kept_vectors.embed_kept(opened.index_file, target, texts, clock)
                cosines += zip(batch, (float(cosine) for cosine in np.asarray(matrix) @ query), strict=True)
        except MemdError:  # keywords still answer
            pass
    return sorted(cosines, key=lambda pair: -pair[1])


def embedded_failure(row: WorkRow) -> str:
    """Return the text of a failure that is embedded: its command and the lines around the error."""
    return f"{row.text.partition(chr(10))[0][:120]}\n{row.detail}"[:MAX_FAILURE_CHARS]
