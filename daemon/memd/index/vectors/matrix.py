"""Vector search in RAM: all vectors of one agent, quantized to one byte per number.

A search computes an upper bound of each row's cosine (`compact`). The few rows that may be among the best are read from
the index, as stored, and ranked exactly.

The matrix is loaded from the BLOBs before the first search and then updated with each commit (`add`, `remove`). Rows
never move and are never overwritten, so a search works on a consistent view while other threads change the matrix.
Vectors that are not in its read transaction, because they are newer or already deleted, are skipped.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from memd.index.database import renew_snapshot
from memd.index.keyword import Scope, simplify_scope
from memd.index.vectors.compact import Comparison, VectorBlock, empty_block
from memd.index.vectors.scan import ScanSearch
from memd.index.vectors.stored import READ_ROWS, read_blocks, read_rows
from memd.index.vectors.vector_search import (
    FloatArray,
    check_dims,
    is_small,
    merge_rankings,
    rank_exactly,
    unit_query,
    used_ids,
)
from memd.system.sqlite import Database

GROWTH_ROWS = 1_024
"""Rows of a block added after loading: a new block costs one allocation and copies nothing."""

TIGHT_ROWS = 1_024
"""Rows whose tight bounds are computed at once; usually enough to include all that may be among the best."""

SAMPLING_STEP = 8
"""Every 8th row is sampled to estimate the bound of the best rows; sorting all would take longer than comparing."""

EXTRA_SHARE = 2
"""1/2 more rows than the limit are read at once, which usually includes all that may be among the best."""

WIDE_SCOPE_READS = 4
"""Reads that filter by a wide scope. It has at least 1/4 of the chunks, so these are nearly always enough; if not, the
scope is applied to all rows first."""

LEAST = np.finfo(np.float32).min
"""Bounds below this exclude a row: it is deleted, or already ranked."""

DEAD_SHARE = 4
"""If more than 1/4 of the rows are deleted, the matrix is dropped and the next search loads it again."""


class _Loading(Struct):
    """Changes of a space that arrive while it is loading; applied afterwards, in order."""

    space_id: str
    changes: list[tuple[list[int], FloatArray | None]] = field(default_factory=list)


class MatrixSearch:
    """Nearest vectors from RAM. Thread-safe.

    Has one vector space at a time, the one searched last. Before the first search and after `drop` it is empty, and
    `add` and `remove` do nothing.
    """

    name = "memory"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._load_lock = threading.Lock()
        self._space_id: str | None = None
        self._dims = 0
        self._blocks: list[VectorBlock] = []
        self._loading: _Loading | None = None

    def __repr__(self) -> str:
        state = f"{len(self)} x {self._dims}" if self.is_loaded else "empty"
        return f"<MatrixSearch {state}, {self.size_bytes} bytes>"

    def __len__(self) -> int:
        """Return the number of vectors."""
        with self._lock:
            return sum(block.live_ids().size for block in self._blocks)

    @property
    def is_loaded(self) -> bool:
        """Whether the vectors are in RAM."""
        return self._space_id is not None

    @property
    def space_id(self) -> str | None:
        """The vector space in RAM, or None."""
        return self._space_id

    @property
    def size_bytes(self) -> int:
        """RAM of the matrix."""
        with self._lock:
            return sum(block.size_bytes for block in self._blocks)

    # --- searching ----------------------------------------------------------------------------------

    def nearest(
        self, db: Database, space_id: str, query: FloatArray, limit: int, scope: Scope | None = None
    ) -> list[tuple[int, float]]:
        """Return the nearest vectors, as `VectorSearch.nearest` promises; reads them all if they are not in RAM."""
        exact = unit_query(query)
        if exact is None or limit <= 0:
            return []
        snapshot = self._snapshot_if_loaded(space_id)
        if (
            snapshot is None
        ):  # dropped since the index's snapshot was taken; loading would renew its transaction
            return ScanSearch().nearest(db, space_id, query, limit, scope)
        blocks = [block for block in snapshot if block.count]
        if not blocks:
            return []
        check_dims(exact, blocks[0].numbers.shape[1])
        compared = Comparison(blocks, exact)
        return _Ranking(db, space_id, compared, exact, limit, simplify_scope(db, scope)).best()

    def _snapshot_if_loaded(self, space_id: str) -> list[VectorBlock] | None:
        with self._lock:
            if self._space_id != space_id:
                return None
            return [block.snapshot() for block in self._blocks]

    # --- loading ------------------------------------------------------------------------------------

    def load(self, db: Database, space_id: str) -> int:
        """Load a space unless it is in RAM; return its number of vectors. Renews the read transaction of `db`."""
        with self._load_lock:
            if self._space_id != space_id:
                self._load(db, space_id)
        return len(self)

    def _load(self, db: Database, space_id: str) -> None:
        """Read all vectors in use, then apply the changes that arrived meanwhile.

        A change arrives after its commit. A transaction that began before that commit would miss a change that arrived
        before loading: so it is renewed once changes are being recorded.
        """
        loading = _Loading(space_id)
        with self._lock:
            self._loading = loading
            self._blocks, self._space_id, self._dims = [], None, 0
        try:
            renew_snapshot(db)
            block = _read(db, space_id)
        except BaseException:
            with self._lock:
                self._loading = None
            raise
        with self._lock:
            if self._loading is not loading:  # dropped meanwhile
                return
            self._loading = None
            self._blocks, self._space_id, self._dims = [block], space_id, block.numbers.shape[1]
            for ids, matrix in loading.changes:
                if matrix is None:
                    self._remove(ids)
                else:
                    self._add(ids, matrix)

    def drop(self) -> None:
        """Release the RAM; the next search loads the vectors again."""
        with self._lock:
            self._loading = None
            self._blocks, self._space_id, self._dims = [], None, 0

    # --- following the index ------------------------------------------------------------------------

    def add(self, space_id: str, ids: Sequence[int], matrix: FloatArray) -> None:
        """Add vectors that came into use; never blocks on I/O."""
        with self._lock:
            if self._loading is not None:
                if self._loading.space_id == space_id:
                    self._loading.changes.append((list(ids), np.array(matrix, dtype=np.float32)))
            elif self._space_id == space_id:
                self._add(list(ids), matrix)

    def remove(self, space_id: str, ids: Sequence[int]) -> None:
        """Remove vectors that no chunk uses any more."""
        with self._lock:
            if self._loading is not None:
                if self._loading.space_id == space_id:
                    self._loading.changes.append((list(ids), None))
            elif self._space_id == space_id:
                self._remove(list(ids))

    def _add(self, ids: list[int], matrix: FloatArray) -> None:
        """Append rows that are not present; call with the lock held."""
        wanted = np.asarray(ids, dtype=np.int64)
        fresh = wanted > 0
        for block in self._blocks:
            live = block.live_ids()
            if live.size and wanted.size and int(wanted.min()) <= int(live.max()):
                fresh &= ~np.isin(wanted, live)
        at = np.flatnonzero(fresh)
        if not at.size:
            return
        if self._dims not in (0, matrix.shape[1]):
            self._blocks, self._space_id, self._dims = [], None, 0  # the dimensions changed: load again
            return
        self._dims = int(matrix.shape[1])
        while at.size:
            block = self._writable_block()
            now = at[: block.free_rows]
            block.append(wanted[now], matrix[now])
            at = at[now.size :]

    def _writable_block(self) -> VectorBlock:
        """Return the last block, or a new one if it is full."""
        if not self._blocks or not self._blocks[-1].free_rows:
            self._blocks.append(empty_block(GROWTH_ROWS, self._dims))
        return self._blocks[-1]

    def _remove(self, ids: list[int]) -> None:
        """Mark rows as deleted; call with the lock held."""
        if not ids:
            return
        dead = total = 0
        for block in self._blocks:
            current = block.snapshot()
            hit = np.isin(current.ids, ids) & current.alive
            if hit.any():
                alive = block.alive.copy()
                alive[: block.count] &= ~hit
                block.alive = alive
            dead += block.count - block.live_ids().size
            total += block.count
        if dead > GROWTH_ROWS and dead * DEAD_SHARE > total:
            self._blocks, self._space_id, self._dims = [], None, 0


def _read(db: Database, space_id: str) -> VectorBlock:
    """Read all vectors of a space that chunks use into one block."""
    ids = used_ids(db, space_id, None)
    block = empty_block(0, 0)
    for there, rows in read_blocks(db, ids):
        if not block.free_rows:
            block = empty_block(ids.size, rows.shape[1])
        block.append(there, rows)
    return block


class _Ranking:
    """Reads candidates and ranks them exactly.

    Vectors are read in the order of their bounds, until none of the rest can reach the last place. Those that are out
    of scope, or not in the read transaction, are replaced by the next ones.
    """

    def __init__(
        self,
        db: Database,
        space_id: str,
        compared: Comparison,
        query: NDArray[np.float64],
        limit: int,
        scope: Scope | None,
    ) -> None:
        self._db = db
        self._space_id = space_id
        self._compared = compared
        self._query = query
        self._limit = limit
        self._scope = scope
        self._reads = 0
        self._found: list[tuple[int, float]] = []

    def best(self) -> list[tuple[int, float]]:
        """Return (vector id, cosine), best first."""
        rough, most = self._compared.rough, max(TIGHT_ROWS, EXTRA_SHARE * self._limit)
        if self._scope is not None and is_small(self._db, self._scope):
            self._apply_scope(self._scope)
        least = math.inf
        while not self._is_certain(least):
            least = self._least(rough[::SAMPLING_STEP], most // SAMPLING_STEP)
            likely = np.flatnonzero(rough >= least)
            if not likely.size:
                break
            self._read(likely, self._compared.close(likely))
            rough[likely] = -np.inf
        return self._found

    def _apply_scope(self, scope: Scope) -> None:
        """Exclude all rows that are not in scope."""
        used = used_ids(self._db, self._space_id, scope)
        self._compared.rough[~np.isin(self._compared.ids, used)] = -np.inf
        self._scope = None

    def _read(self, at: NDArray[np.intp], high: FloatArray) -> None:
        """Read and rank those of some rows that may be among the best."""
        least = math.inf
        while not self._is_certain(least):
            if self._scope is not None and self._reads == WIDE_SCOPE_READS:
                self._apply_scope(self._scope)
                high[np.isneginf(self._compared.rough[at])] = -np.inf
            least = self._least(high, self._limit + self._limit // EXTRA_SHARE)
            left = np.flatnonzero(high >= least)
            if not left.size:
                return
            if left.size > READ_ROWS:
                likely = high[left]
                left = left[likely >= _highest_of(likely, READ_ROWS)][:READ_ROWS]
                least = math.inf  # some rows that reach it are not read yet
            there, rows = read_rows(self._db, self._compared.ids[at[left]], self._scope)
            ranked = rank_exactly(rows, there, self._query, self._limit)
            self._found = merge_rankings(self._found, ranked, self._limit)
            high[left] = -np.inf
            self._reads += 1

    def _least(self, high: FloatArray, most: int) -> float:
        """Return the bound a row must reach to be read.

        Once `limit` rows are ranked, that is the last one's cosine; before, the bound that about `most` rows reach.
        """
        return self._found[-1][1] if self._is_full else float(_highest_of(high, most))

    def _is_certain(self, least: float) -> bool:
        """Return whether rows with a bound below `least` can't be among the best."""
        return self._is_full and self._found[-1][1] >= least

    @property
    def _is_full(self) -> bool:
        return len(self._found) == self._limit


def _highest_of(high: FloatArray, most: int) -> np.float32:
    """Return the bound that the `most` highest rows reach; `LEAST` if there are fewer."""
    if high.size <= most:
        return LEAST
    return max(LEAST, np.partition(high, high.size - most)[high.size - most])
