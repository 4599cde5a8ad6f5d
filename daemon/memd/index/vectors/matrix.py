"""The warm path: all vectors of one agent in memory, at a byte a number.

A search goes through all rows, which tells the most each cosine can be (`compact`). The few that may be among the
best are read from the index, bit by bit as stored, and ranked exactly.

The matrix is loaded from the BLOBs before the first search and then follows the index by one message a commit (`add`,
`remove`). Rows never move and are never overwritten, so a search works on what it saw when
it began while others change the matrix. What its reader's snapshot doesn't hold, because the change is newer or
older than it, is passed over.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from memd.index.database import Database, renew_snapshot
from memd.index.keyword import Scope, narrow
from memd.index.vectors.compact import Block, Comparison, empty_block
from memd.index.vectors.scan import ScanSearch
from memd.index.vectors.stored import READ_ROWS, read_blocks, read_rows
from memd.index.vectors.vector_search import (
    FloatArray,
    check_dims,
    is_small,
    merged,
    rank_exactly,
    unit_query,
    used_ids,
)

GROWTH_ROWS = 1_024
"""Rows of a block added after loading: a new block costs one allocation and copies nothing."""

LIKELY = 1_024
"""Rows that are compared closely at once: mostly all whose rough bounds reach the best's cosines are among them."""

SAMPLE = 8
"""Of so many rows one tells about what the likeliest reach: finding it out takes longer than comparing did."""

MORE = 2
"""One in this many more than wanted is read at once, which is mostly all that can be among the best."""

WIDE_READINGS = 4
"""Times the likeliest are read and looked up in a wide scope. It holds a quarter of the chunks or more, so this is
nearly always enough; where it isn't, the scope is applied to all first."""

LEAST = np.finfo(np.float32).min
"""What is below this can't be reached: rows that are dead, or done with."""

DEAD_SHARE = 4
"""When more than one row in this many is dead, the matrix is dropped and the next search loads it anew."""


@dataclass(slots=True)
class _Loading:
    """Changes of a space that arrive while it is being loaded; replayed afterwards, in order."""

    space_id: str
    changes: list[tuple[list[int], FloatArray | None]] = field(default_factory=list)


class MatrixSearch:
    """Nearest vectors from memory; safe to use from several threads.

    It holds one vector space at a time, the one last searched. Before the first search and after `drop` it
    holds nothing; `add` and `remove` then cost nothing.
    """

    name = "memory"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._load_lock = threading.Lock()
        self._space_id: str | None = None
        self._dims = 0
        self._blocks: list[Block] = []
        self._loading: _Loading | None = None

    def __repr__(self) -> str:
        state = f"{len(self)} x {self._dims}" if self.is_loaded else "empty"
        return f"<MatrixSearch {state}, {self.size_bytes} bytes>"

    def __len__(self) -> int:
        """Return how many vectors can be found."""
        with self._lock:
            return sum(block.live_ids().size for block in self._blocks)

    @property
    def is_loaded(self) -> bool:
        """Whether the vectors are in memory."""
        return self._space_id is not None

    @property
    def space_id(self) -> str | None:
        """The vector space in memory."""
        return self._space_id

    @property
    def size_bytes(self) -> int:
        """Memory held."""
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
        seen = self._seen_if_loaded(space_id)
        if seen is None:  # dropped since the snapshot was taken: loading would renew its transaction
            return ScanSearch().nearest(db, space_id, query, limit, scope)
        blocks = [block for block in seen if block.count]
        if not blocks:
            return []
        check_dims(exact, blocks[0].numbers.shape[1])
        compared = Comparison(blocks, exact)
        return _Ranking(db, space_id, compared, exact, limit, narrow(db, scope)).best()

    def _seen_if_loaded(self, space_id: str) -> list[Block] | None:
        with self._lock:
            if self._space_id != space_id:
                return None
            return [block.seen() for block in self._blocks]

    # --- loading ------------------------------------------------------------------------------------

    def load(self, db: Database, space_id: str) -> int:
        """Read a space into RAM if it isn't there, which renews the read transaction of `db`; return its size."""
        with self._load_lock:
            if self._space_id != space_id:
                self._load(db, space_id)
        return len(self)

    def _load(self, db: Database, space_id: str) -> None:
        """Read all vectors in use; changes that arrive meanwhile are replayed on top.

        A change arrives after its commit. The reader may have begun before that, and would miss a change that arrived
        before loading began: so its transaction is renewed after the noting of changes has begun.
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
        """Give the memory back; the next search loads it again."""
        with self._lock:
            self._loading = None
            self._blocks, self._space_id, self._dims = [], None, 0

    # --- following the index ------------------------------------------------------------------------

    def add(self, space_id: str, ids: Sequence[int], matrix: FloatArray) -> None:
        """Take in vectors that came into use; never blocks on I/O."""
        with self._lock:
            if self._loading is not None:
                if self._loading.space_id == space_id:
                    self._loading.changes.append((list(ids), np.array(matrix, dtype=np.float32)))
            elif self._space_id == space_id:
                self._add(list(ids), matrix)

    def remove(self, space_id: str, ids: Sequence[int]) -> None:
        """Leave out vectors that no chunk uses any more."""
        with self._lock:
            if self._loading is not None:
                if self._loading.space_id == space_id:
                    self._loading.changes.append((list(ids), None))
            elif self._space_id == space_id:
                self._remove(list(ids))

    def _add(self, ids: list[int], matrix: FloatArray) -> None:
        """Append rows that are not there; the lock is held."""
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
            self._blocks, self._space_id, self._dims = [], None, 0  # the space changed its length: load anew
            return
        self._dims = int(matrix.shape[1])
        while at.size:
            block = self._block_with_room()
            now = at[: block.room]
            block.append(wanted[now], matrix[now])
            at = at[now.size :]

    def _block_with_room(self) -> Block:
        """Return the last block, or a new one where it is full."""
        if not self._blocks or not self._blocks[-1].room:
            self._blocks.append(empty_block(GROWTH_ROWS, self._dims))
        return self._blocks[-1]

    def _remove(self, ids: list[int]) -> None:
        """Mark rows dead; the lock is held."""
        if not ids:
            return
        dead = total = 0
        for block in self._blocks:
            seen = block.seen()
            hit = np.isin(seen.ids, ids) & seen.alive
            if hit.any():
                alive = block.alive.copy()
                alive[: block.count] &= ~hit
                block.alive = alive
            dead += block.count - block.live_ids().size
            total += block.count
        if dead > GROWTH_ROWS and dead * DEAD_SHARE > total:
            self._blocks, self._space_id, self._dims = [], None, 0


def _read(db: Database, space_id: str) -> Block:
    """Read all vectors of a space that chunks use into one block."""
    ids = used_ids(db, space_id, None)
    block = empty_block(0, 0)
    for there, rows in read_blocks(db, ids):
        if not block.room:
            block = empty_block(ids.size, rows.shape[1])
        block.append(there, rows)
    return block


class _Ranking:
    """The best of some vectors, read and ranked exactly.

    They are read from the likeliest on, until none that is left can reach the last one wanted. Those that are out of
    scope, or that the reader doesn't see, leave their places to the next.
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
        self._readings = 0
        self._found: list[tuple[int, float]] = []

    def best(self) -> list[tuple[int, float]]:
        """Return (vector id, cosine), best first."""
        rough, most = self._compared.rough, max(LIKELY, MORE * self._limit)
        if self._scope is not None and is_small(self._db, self._scope):
            self._leave_out(self._scope)
        least = math.inf
        while not self._is_certain(least):
            least = self._least(rough[::SAMPLE], most // SAMPLE)
            likely = np.flatnonzero(rough >= least)
            if not likely.size:
                break
            self._read(likely, self._compared.close(likely))
            rough[likely] = -np.inf
        return self._found

    def _leave_out(self, scope: Scope) -> None:
        """Leave out all that is not in scope."""
        used = used_ids(self._db, self._space_id, scope)
        self._compared.rough[~np.isin(self._compared.ids, used)] = -np.inf
        self._scope = None

    def _read(self, at: NDArray[np.intp], high: FloatArray) -> None:
        """Read those of some rows that can be among the best."""
        least = math.inf
        while not self._is_certain(least):
            if self._scope is not None and self._readings == WIDE_READINGS:
                self._leave_out(self._scope)
                high[np.isneginf(self._compared.rough[at])] = -np.inf
            least = self._least(high, self._limit + self._limit // MORE)
            left = np.flatnonzero(high >= least)
            if not left.size:
                return
            if left.size > READ_ROWS:
                likely = high[left]
                left = left[likely >= _highest_of(likely, READ_ROWS)][:READ_ROWS]
                least = math.inf  # some that reach it are left
            there, rows = read_rows(self._db, self._compared.ids[at[left]], self._scope)
            ranked = rank_exactly(rows, there, self._query, self._limit)
            self._found = merged(self._found, ranked, self._limit)
            high[left] = -np.inf
            self._readings += 1

    def _least(self, high: FloatArray, most: int) -> float:
        """Return what a cosine has to reach to be looked at: that of the last one wanted; as long as there are fewer,
        what about so many reach.
        """
        return self._found[-1][1] if self._is_full else float(_highest_of(high, most))

    def _is_certain(self, least: float) -> bool:
        """Return whether no cosine below one can be among the best."""
        return self._is_full and self._found[-1][1] >= least

    @property
    def _is_full(self) -> bool:
        return len(self._found) == self._limit


def _highest_of(high: FloatArray, most: int) -> np.float32:
    """Return what so many of the cosines reach; all that can be reached where there are fewer."""
    if high.size <= most:
        return LEAST
    return max(LEAST, np.partition(high, high.size - most)[high.size - most])
