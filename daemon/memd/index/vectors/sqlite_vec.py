"""The sqlite-vec extension, self-tested before use, and the vector search that uses it."""

from __future__ import annotations

import threading
from importlib.util import find_spec
from pathlib import Path

import apsw
import numpy as np

from memd.index import chunks_vec
from memd.index.database import connect
from memd.index.keyword import Scope, simplify_scope
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
from memd.system.log import log
from memd.system.sqlite import Database
from memd_client.errors import VectorExtensionError

LOAD_TIMEOUT_S = 10.0
"""Longest time for loading and self-test, which usually take 10 ms. Shorter than the 15 s a client waits for a daemon
that it starts, because the daemon answers no request before the test."""

MOST_NEIGHBOURS = 4_096
"""Largest k that sqlite-vec accepts."""

MARGIN = 64
"""Neighbours requested beyond the limit, so that the last place is usually unambiguous at once."""


class VectorExtension:
    """The sqlite-vec library: its path, whether it works, and the error if not."""

    def __init__(self, path: str | None = None, *, enabled: bool = True) -> None:
        self.enabled = enabled
        self.path = path
        self.version: str | None = None
        self.error: str | None = None if enabled else "turned off in the settings"
        self.loaded = False

    def __repr__(self) -> str:
        return f"<VectorExtension {self.version if self.loaded else self.error or 'not tried yet'}>"

    def load(self, timeout_s: float = LOAD_TIMEOUT_S) -> bool:
        """Load and test the extension once; sets `loaded`, `version` and `error`, and returns `loaded`.

        Blocking: call in a worker thread. Never raises, because search works without the extension.
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
        """Run the self-test; append its version or exception to `outcome`."""
        try:
            outcome.append(self._self_test())
        except (apsw.Error, OSError, VectorExtensionError) as error:
            outcome.append(error)

    def _self_test(self) -> str:
        """Insert and search in a database in RAM, because a library of the wrong build may load and not work."""
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
                raise VectorExtensionError("sqlite-vec loads but returns wrong results")
            return version
        finally:
            db.close(True)

    def load_into(self, db: Database) -> bool:
        """Load the extension into a connection if the self-test passed; return whether it did."""
        if not self.loaded:
            return False
        self._load_into(db)
        return True

    def _load_into(self, db: Database) -> None:
        """Load the extension, then disable loading, so that SQL can't load anything else."""
        db.enable_load_extension(True)
        try:
            db.load_extension(str(Path(self.path).expanduser()) if self.path else library_path())
        finally:
            db.enable_load_extension(False)


def library_path() -> str:
    """Return `sqlite_vec.loadable_path()` without the import, which loads a second SQLite: 1.6 MB."""
    package = find_spec("sqlite_vec")
    if package is None or package.origin is None:
        raise VectorExtensionError("the package sqlite-vec is not installed")
    return str(Path(package.origin).with_name("vec0"))


class SqliteVecSearch:
    """Nearest vectors by sqlite-vec's MATCH; falls back to a scan if that can't be exact."""

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
        scope = simplify_scope(db, scope)
        allowed = used_ids(db, space_id, scope) if scope is not None else None
        check_dims(exact, state.dims)
        chosen = self._candidates(db, exact.astype("<f4").tobytes(), limit, rounding(state.dims), allowed)
        if chosen is None:
            return self._scan.nearest(db, space_id, query, limit, scope)
        return rank_stored(db, chosen, exact, limit)

    def _candidates(
        self, db: Database, query: bytes, limit: int, doubt: float, allowed: IdArray | None
    ) -> IdArray | None:
        """Return the ids of all vectors that may be among the best; None if there are too many.

        Among many equal vectors the k nearest are an arbitrary choice, so k grows until the last one found is clearly
        farther than the last one within the limit.
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
