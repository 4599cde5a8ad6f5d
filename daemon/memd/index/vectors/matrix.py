"""The warm path: all vectors of one agent in memory, searched with one multiplication.

The matrix is loaded from the BLOBs at the first search and then follows the index: whoever commits a change
tells it (`add`, `remove`). Rows never move and are never overwritten, so a search works on what it saw when
it began while others change the matrix.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memd.index.database import Database, renew_snapshot
from memd.index.keyword import Scope, narrow
from memd.index.vectors.vector_search import (
    FloatArray,
    IdArray,
    check_dims,
    chunk_ids_of_vectors,
    in_doubt,
    is_small,
    rank_exactly,
    unit_query,
    used_ids,
    used_vectors_sql,
)

GROWTH_ROWS = 1_024
"""Rows of a block added after loading: a new block costs one allocation and copies nothing."""

WIDE_MARGIN = 6
"""Times the wanted number that is ranked before a wide scope is applied. A wide scope holds a quarter of the
chunks or more, so this is nearly always enough; where it isn't, the scope is applied first."""

DEAD_SHARE = 4
"""When more than one row in this many is dead, the matrix is dropped and the next search loads it anew."""


@dataclass(slots=True)
class _Block:
    """Rows in one allocation. Below `count` nothing changes but `alive`, which is replaced, not written."""

    ids: IdArray
    rows: FloatArray
    alive: NDArray[np.bool_]
    count: int

    def seen(self) -> _Block:
        """Return the block as it is now, unaffected by later changes."""
        return _Block(self.ids[: self.count], self.rows[: self.count], self.alive[: self.count], self.count)


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
        self._blocks: list[_Block] = []
        self._loading: _Loading | None = None

    def __repr__(self) -> str:
        state = f"{len(self)} x {self._dims}" if self.is_loaded else "empty"
        return f"<MatrixSearch {state}, {self.size_bytes} bytes>"

    def __len__(self) -> int:
        """Return how many vectors can be found."""
        with self._lock:
            return sum(int(np.count_nonzero(block.alive[: block.count])) for block in self._blocks)

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
            return sum(block.rows.nbytes + block.ids.nbytes + block.alive.nbytes for block in self._blocks)

    # --- searching ----------------------------------------------------------------------------------

    def nearest(
        self, db: Database, space_id: str, query: FloatArray, limit: int, scope: Scope | None = None
    ) -> list[tuple[int, float]]:
        """Return the nearest vectors, as `VectorSearch.nearest` promises; loads the matrix where needed."""
        exact = unit_query(query)
        if exact is None or limit <= 0:
            return []
        blocks = [block for block in self._seen(db, space_id) if block.count]
        if not blocks:
            return []
        dims = blocks[0].rows.shape[1]
        check_dims(exact, dims)
        single = exact.astype(np.float32)
        near = _joined([block.rows @ single for block in blocks])
        ids = _joined([block.ids for block in blocks])
        alive = _joined([block.alive for block in blocks])

        def best(among: NDArray[np.bool_], count: int) -> list[tuple[int, float]]:
            positions = np.flatnonzero(among)
            chosen = positions[in_doubt(near[positions], count, dims)]
            return rank_exactly(_rows_at(blocks, chosen, dims), ids[chosen], exact, count)

        scope = narrow(db, scope)
        if scope is None:
            return best(alive, limit)
        if not is_small(db, scope):
            # Most of the best are in scope: far fewer ids to look up than the scope has.
            first = best(alive, limit * WIDE_MARGIN)
            inside = {key for key, _ in chunk_ids_of_vectors(db, space_id, [key for key, _ in first], scope)}
            found = [item for item in first if item[0] in inside]
            if len(found) >= limit:
                return found[:limit]
        return best(alive & np.isin(ids, used_ids(db, space_id, scope)), limit)

    def _seen(self, db: Database, space_id: str) -> list[_Block]:
        """Return the blocks as they are now, loading the space first where another one or none is there."""
        blocks = self._seen_if_loaded(space_id)
        if blocks is not None:
            return blocks
        with self._load_lock:
            blocks = self._seen_if_loaded(space_id)
            return blocks if blocks is not None else self._load(db, space_id)

    def _seen_if_loaded(self, space_id: str) -> list[_Block] | None:
        with self._lock:
            if self._space_id != space_id:
                return None
            return [block.seen() for block in self._blocks]

    # --- loading ------------------------------------------------------------------------------------

    def load(self, db: Database, space_id: str) -> int:
        """Bring a space into memory before a search needs it; nothing happens where it is there.

        Args:
            db: A reader connection; its transaction starts anew.
            space_id: The vector space.

        Returns:
            How many vectors are in memory.
        """
        self._seen(db, space_id)
        return len(self)

    def _load(self, db: Database, space_id: str) -> list[_Block]:
        """Read all vectors in use; changes told meanwhile are replayed on top.

        A change is told after its commit. The reader may have begun before that, and would read rows without
        a change that was told to nobody: so it starts anew, after the noting of changes has begun.
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
            if self._loading is not loading:  # dropped meanwhile: answer, but keep nothing
                return [block.seen()]
            self._loading = None
            self._blocks, self._space_id, self._dims = [block], space_id, block.rows.shape[1]
            for ids, matrix in loading.changes:
                if matrix is None:
                    self._remove(ids)
                else:
                    self._add(ids, matrix)
            return [part.seen() for part in self._blocks]

    def drop(self) -> None:
        """Give the memory back; the next search loads it again."""
        with self._lock:
            self._loading = None
            self._blocks, self._space_id, self._dims = [], None, 0

    # --- following the index ------------------------------------------------------------------------

    def add(self, space_id: str, ids: Sequence[int], matrix: FloatArray) -> None:
        """Take in vectors that came into use; never blocks on I/O.

        Args:
            space_id: Whose they are; those of another space than the one in memory are passed over.
            ids: Their ids; 0 (cached, but no chunk uses it) is passed over.
            matrix: (len(ids), dims), their vectors, bit by bit as stored.
        """
        with self._lock:
            if self._loading is not None:
                if self._loading.space_id == space_id:
                    self._loading.changes.append((list(ids), np.array(matrix, dtype=np.float32)))
            elif self._space_id == space_id:
                self._add(list(ids), matrix)

    def remove(self, space_id: str, ids: Sequence[int]) -> None:
        """Leave out vectors that no chunk uses any more.

        Args:
            space_id: Whose they are.
            ids: Their ids; unknown ones are passed over.
        """
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
            live = block.ids[: block.count][block.alive[: block.count]]
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
            now = at[: len(block.ids) - block.count]
            end = block.count + now.size
            block.ids[block.count : end] = wanted[now]
            block.rows[block.count : end] = matrix[now]
            alive = block.alive.copy()
            alive[block.count : end] = True
            block.alive, block.count = alive, end
            at = at[now.size :]

    def _block_with_room(self) -> _Block:
        """Return the last block, or a new one where it is full."""
        if not self._blocks or self._blocks[-1].count == len(self._blocks[-1].ids):
            self._blocks.append(_empty_block(GROWTH_ROWS, self._dims))
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
            dead += block.count - int(np.count_nonzero(block.alive[: block.count]))
            total += block.count
        if dead > GROWTH_ROWS and dead * DEAD_SHARE > total:
            self._blocks, self._space_id, self._dims = [], None, 0


def _empty_block(rows: int, dims: int) -> _Block:
    """Return a block with room for so many rows."""
    return _Block(
        np.zeros(rows, dtype=np.int64),
        np.empty((rows, dims), dtype=np.float32),
        np.zeros(rows, dtype=np.bool_),
        0,
    )


def _read(db: Database, space_id: str) -> _Block:
    """Read all vectors of a space that chunks use into one block, each copied once."""
    source, values = used_vectors_sql(db, space_id, None)
    count, dims = db.execute(f"SELECT count(*), min(e.dims) FROM {source}", values).get
    block = _empty_block(count, dims or 0)
    packed = block.rows.reshape(-1).view(np.uint8).data
    step = block.rows.shape[1] * block.rows.itemsize
    ids: list[int] = []
    for at, (key, blob) in enumerate(db.execute(f"SELECT e.id, e.embedding FROM {source}", values)):
        ids.append(key)
        packed[at * step : (at + 1) * step] = blob
    block.ids[:], block.alive[:], block.count = ids, True, count
    return block


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Return arrays as one; the usual single one as it is."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _rows_at(blocks: Sequence[_Block], positions: NDArray[np.intp], dims: int) -> FloatArray:
    """Return rows by their position over all blocks, in the order of the positions (ascending)."""
    parts = [np.empty((0, dims), dtype=np.float32)]
    start = 0
    for block in blocks:
        here = positions[(positions >= start) & (positions < start + block.count)] - start
        parts.append(block.rows[here])
        start += block.count
    return np.concatenate(parts)
