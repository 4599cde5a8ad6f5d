"""sqlite-vec: the extension, tested before it is trusted, and the search that uses it."""

from __future__ import annotations

import threading
from pathlib import Path

import apsw
import numpy as np
import sqlite_vec
import structlog

from memd.index import chunks_vec
from memd.index.database import Database, connect
from memd.index.keyword import Scope, narrow
from memd.index.numbers import pack_ids
from memd.index.vectors.scan import ScanSearch
from memd.index.vectors.stored import rank_stored
from memd.index.vectors.vector_search import (
    FloatArray,
    IdArray,
    check_dims,
    rounding,
    unit_query,
    used_ids,
)
from memd_client.errors import VectorExtensionError

log = structlog.get_logger(__name__)

LOAD_TIMEOUT_S = 10.0
"""How long loading and self-test may take; they take some 10 ms. OpenClaw waits 30 s, but its searches don't wait for
it: here the daemon answers nobody before it knows, and a client that starts one waits 15 s."""

MOST_NEIGHBOURS = 4_096
"""sqlite-vec refuses a larger k."""

MARGIN = 64
"""Neighbours asked for beyond those wanted, so that the last one wanted is clear of the rest at once."""


class VectorExtension:
    """The sqlite-vec library of this machine: where it is, whether it works, and why not."""

    def __init__(self, path: str | None = None, *, enabled: bool = True) -> None:
        self.enabled = enabled
        self.path = path
        self.version: str | None = None
        self.error: str | None = None if enabled else "turned off in the settings"
        self.loaded = False

    def __repr__(self) -> str:
        return f"<VectorExtension {self.version if self.loaded else self.error or 'not tried yet'}>"

    def load(self, timeout_s: float = LOAD_TIMEOUT_S) -> bool:
        """Load and test the extension once; the outcome is in `loaded`, `version` and `error`.

        Blocks; run it in a thread. It never raises: search works without the extension.
        """
        if not self.enabled:
            return False
        outcome: list[str | Exception] = []
        thread = threading.Thread(target=self._try, args=(outcome,), name="memd-sqlite-vec", daemon=True)
        thread.start()
        thread.join(timeout_s)
        result: str | Exception = outcome[0] if outcome else TimeoutError(f"no answer in {timeout_s:g} s")
        if isinstance(result, Exception):
            self.loaded, self.error = False, str(result) or type(result).__name__
            log.warning("index.vector_extension_failed", path=self.path, error=self.error)
        else:
            self.loaded, self.version, self.error = True, result, None
        return self.loaded

    def _try(self, outcome: list[str | Exception]) -> None:
        """Load into a connection of its own and search; the outcome is a version or an exception."""
        try:
            outcome.append(self._self_test())
        except (apsw.Error, OSError, VectorExtensionError) as error:
            outcome.append(error)

    def _self_test(self) -> str:
        """Insert and search for real: a library of the wrong build can load and still not work."""
        db = connect(":memory:", ())
        try:
            self._load_into(db)
            version = str(db.execute("SELECT vec_version()").fetchall()[0][0])
            db.execute("CREATE VIRTUAL TABLE probe USING vec0(embedding float[4] distance_metric=cosine)")
            rows = np.eye(4, dtype="<f4")
            db.executemany(
                "INSERT INTO probe (rowid, embedding) VALUES (?, ?)",
                ((number * 10, rows[number].tobytes()) for number in range(1, 4)),
            )
            found: list[tuple[int, float]] = list(
                db.execute(
                    "SELECT rowid, distance FROM probe WHERE embedding MATCH ? AND k = 2",
                    (rows[2].tobytes(),),
                )
            )
            if len(found) != 2 or found[0][0] != 20 or abs(found[0][1]) > 1e-6:
                raise VectorExtensionError("sqlite-vec loads but gives wrong answers")
            return version
        finally:
            db.close(True)

    def load_into(self, db: Database) -> bool:
        """Make the extension known to a connection; only where the self-test passed."""
        if not self.loaded:
            return False
        self._load_into(db)
        return True

    def _load_into(self, db: Database) -> None:
        """Load, and shut the door behind: SQL can't load anything else."""
        db.enable_load_extension(True)
        try:
            db.load_extension(str(Path(self.path).expanduser()) if self.path else sqlite_vec.loadable_path())
        finally:
            db.enable_load_extension(False)


class SqliteVecSearch:
    """Nearest vectors by sqlite-vec, through MATCH only; where it can't be exact, a scan answers."""

    name = "sqlite-vec"

    def __init__(self) -> None:
        self._scan = ScanSearch()

    def __repr__(self) -> str:
        return "<SqliteVecSearch>"

    def nearest(
        self, db: Database, space_id: str, query: FloatArray, limit: int, scope: Scope | None = None
    ) -> list[tuple[int, float]]:
        """Return the nearest vectors, as `VectorSearch.nearest` promises."""
        exact = unit_query(query)
        if exact is None or limit <= 0:
            return []
        state = chunks_vec.find_state(db)
        if state is None or limit > MOST_NEIGHBOURS or not chunks_vec.is_whole(db, space_id):
            return self._scan.nearest(db, space_id, query, limit, scope)
        scope = narrow(db, scope)
        allowed = used_ids(db, space_id, scope) if scope is not None else None
        check_dims(exact, state.dims)
        chosen = self._candidates(db, exact.astype("<f4").tobytes(), limit, rounding(state.dims), allowed)
        if chosen is None:
            return self._scan.nearest(db, space_id, query, limit, scope)
        return rank_stored(db, chosen, exact, limit)

    def _candidates(
        self, db: Database, query: bytes, limit: int, doubt: float, allowed: IdArray | None
    ) -> IdArray | None:
        """Return the ids of all vectors that may be among the best; None where that takes too many.

        Among very many equal vectors the k nearest are an arbitrary pick, so k grows until the last one
        found is clearly farther than the last one wanted.
        """
        only = "" if allowed is None else "AND rowid IN (SELECT value FROM json_each(:allowed))"
        values = (
            {"query": query} if allowed is None else {"query": query, "allowed": pack_ids(allowed.tolist())}
        )
        k = min(MOST_NEIGHBOURS, limit + MARGIN)
        while True:
            rows = db.execute(
                f"SELECT rowid, distance FROM chunks_vec WHERE embedding MATCH :query AND k = :k {only}",
                {**values, "k": k},
            ).fetchall()
            ids = np.fromiter((row[0] for row in rows), dtype=np.int64, count=len(rows))
            if len(rows) < k:
                return ids
            distances = np.sort(np.fromiter((row[1] for row in rows), dtype=np.float64, count=len(rows)))
            if distances[-1] > distances[limit - 1] + 2 * doubt:
                return ids
            if k == MOST_NEIGHBOURS:
                return None
            k = min(MOST_NEIGHBOURS, k * 4)
