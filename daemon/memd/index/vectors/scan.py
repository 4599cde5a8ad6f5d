"""Vector search by a full scan of the BLOBs, which is always possible."""

from __future__ import annotations

import numpy as np

from memd.index.keyword import Scope, simplify_scope
from memd.index.vectors.stored import rank_stored, read_used
from memd.index.vectors.vector_search import (
    FloatArray,
    IdArray,
    check_dims,
    possible_best,
    unit_query,
)
from memd.system.sqlite import Database


class ScanSearch:
    """Nearest vectors by reading all of them; keeps nothing in RAM between searches."""

    name = "scan"

    def __repr__(self) -> str:
        return "<ScanSearch>"

    def nearest(
        self, db: Database, space_id: str, query: FloatArray, limit: int, scope: Scope | None = None
    ) -> list[tuple[int, float]]:
        """Return the nearest vectors, as `VectorSearch.nearest` promises."""
        exact = unit_query(query)
        if exact is None or limit <= 0:
            return []
        single = exact.astype(np.float32)
        parts: list[tuple[IdArray, FloatArray]] = []
        for ids, rows in read_used(db, space_id, simplify_scope(db, scope)):
            check_dims(exact, rows.shape[1])
            parts.append((ids, rows @ single))
        if not parts:
            return []
        all_ids = np.concatenate([ids for ids, _ in parts])
        chosen = all_ids[possible_best(np.concatenate([near for _, near in parts]), limit, exact.shape[0])]
        return rank_stored(db, chosen, exact, limit)
