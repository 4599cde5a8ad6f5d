"""The table `chunks_vec` (sqlite-vec) kept equal to the vectors that chunks of the active space use.

It is an accelerator only. Whatever happens to it, the BLOBs in `embedding_cache` are the truth: a failure
here marks the table as not whole, searches then read the BLOBs, and the next `refill` mends it. Rows are
only inserted and deleted: updating, replacing and renaming are what sqlite-vec gets wrong.

Whether the extension is loaded is a property of the connection, so no flag is passed around.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import apsw
import numpy as np
import structlog
from numpy.typing import NDArray

from memd.index.database import Database, get_int, has_module, savepoint
from memd.index.meta import active_space, find_meta, set_meta
from memd.index.numbers import pack_ids

log = structlog.get_logger(__name__)

MODULE = "vec0"
STATE = "chunks_vec"

BLOCK_ROWS = 256
"""Rows sqlite-vec allocates at once: with its own 1,024, ten notes would hold 1.5 MB of nothing."""

REFILL_ROWS = 4_096
"""Rows one refill step writes: some 60 ms, so that text waiting to be written isn't held up."""

HOLES = 2
"""Allocated over used rows beyond which the table is built anew: holes in old blocks are never filled."""


@dataclass(frozen=True, slots=True)
class TableState:
    """What the table holds: whose vectors, how long, and whether all of them."""

    space_id: str
    dims: int
    whole: bool


def find_state(db: Database) -> TableState | None:
    """Return what the table holds, or None where there is no table."""
    value = find_meta(db, STATE)
    return None if value is None else TableState(*json.loads(value))


def is_whole(db: Database, space_id: str) -> bool:
    """Return whether the table can answer for a space: complete, and the extension is loaded here."""
    state = find_state(db)
    return state is not None and state.whole and state.space_id == space_id and has_module(db, MODULE)


def follow(
    db: Database,
    space_id: str,
    removed: Sequence[int],
    added: Sequence[int],
    matrix: NDArray[np.float32] | None,
) -> None:
    """Take vectors out of the table and into it, inside the caller's transaction.

    When it fails: nothing is raised; the table is marked and no longer asked.
    """
    if not removed and not added:
        return
    state = find_state(db)
    if state is None or state.space_id != space_id:
        return
    if not has_module(db, MODULE):
        if state.whole:
            _set_state(db, TableState(state.space_id, state.dims, False))
        return
    try:
        with savepoint(db):
            _delete(db, removed)
            if matrix is not None and added:
                _insert(db, added, matrix)
    except (apsw.SQLError, apsw.ConstraintError) as error:
        log.warning("index.chunks_vec_failed", error=type(error).__name__)
        _set_state(db, TableState(state.space_id, state.dims, False))


def clear(db: Database, space_id: str) -> None:
    """Empty the table where it holds a space whose vectors are being dropped."""
    state = find_state(db)
    if state is not None and state.space_id == space_id:
        _set_state(db, TableState(state.space_id, state.dims, False))
        if has_module(db, MODULE):
            _make(db, state.space_id, state.dims)


def refill(db: Database, limit: int = REFILL_ROWS) -> int:
    """Bring the table one step nearer to what the active space's chunks use, by difference."""
    space = active_space(db)
    if space is None or not has_module(db, MODULE):
        return 0
    try:
        with savepoint(db):
            state = find_state(db)
            if state is None or (state.space_id, state.dims) != (space.id, space.dims) or _is_unsound(db):
                _make(db, space.id, space.dims)
            return _refill_step(db, space.id, space.dims, limit)
    except (apsw.SQLError, apsw.ConstraintError) as error:
        log.warning("index.chunks_vec_failed", error=type(error).__name__)
        _set_state(db, TableState(space.id, space.dims, False))
        return 0


def _refill_step(db: Database, space_id: str, dims: int, limit: int) -> int:
    """Delete what is too much, insert at most `limit` of what is missing; return what remains."""
    wanted = _ids(
        db,
        """SELECT id FROM embedding_cache AS e WHERE provider_key = ? AND dims = ?
           AND EXISTS (SELECT 1 FROM chunks WHERE hash = e.hash)""",
        (space_id, dims),
    )
    present = _ids(db, "SELECT rowid FROM chunks_vec_rowids", ())
    _delete(db, _without(present, wanted).tolist())
    missing = _without(wanted, present)
    now = missing[:limit].tolist()
    db.executemany(
        "INSERT INTO chunks_vec (rowid, embedding) SELECT id, embedding FROM embedding_cache WHERE id = ?",
        ((key,) for key in now),
    )
    remaining = len(missing) - len(now)
    _set_state(db, TableState(space_id, dims, remaining == 0))
    return remaining


def _ids(db: Database, statement: str, values: tuple[str | int, ...]) -> NDArray[np.int64]:
    """Return one column of ids, in ascending order."""
    return np.sort(np.fromiter((row[0] for row in db.execute(statement, values)), dtype=np.int64))


def _without(ids: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ids that are not among others; both ascend.

    `np.setdiff1d` loads all of numpy.ma when it is first called: 30 ms inside of a transaction, and 1.3 MB.
    """
    if not others.size:
        return ids
    places = np.minimum(np.searchsorted(others, ids), others.size - 1)
    rest: NDArray[np.int64] = ids[others[places] != ids]
    return rest


def _insert(db: Database, ids: Sequence[int], matrix: NDArray[np.float32]) -> None:
    """Insert rows that are not there yet."""
    present = {
        row[0]
        for row in db.execute(
            "SELECT rowid FROM chunks_vec_rowids WHERE rowid IN (SELECT value FROM json_each(?))",
            (pack_ids(ids),),
        )
    }
    rows = np.ascontiguousarray(matrix, dtype="<f4")
    db.executemany(
        "INSERT INTO chunks_vec (rowid, embedding) VALUES (?, ?)",
        ((key, rows[at].tobytes()) for at, key in enumerate(ids) if key not in present),
    )


def _delete(db: Database, ids: Sequence[int]) -> None:
    """Delete rows by id."""
    db.executemany("DELETE FROM chunks_vec WHERE rowid = ?", ((key,) for key in ids))


def _is_unsound(db: Database) -> bool:
    """Return whether the table is missing or mostly holes."""
    tables = {row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE name GLOB 'chunks_vec*'")}
    if not {"chunks_vec", "chunks_vec_chunks", "chunks_vec_rowids"} <= tables:
        return True
    allocated = get_int(db, "SELECT coalesce(sum(size), 0) FROM chunks_vec_chunks")
    used = get_int(db, "SELECT count(*) FROM chunks_vec_rowids")
    return allocated > HOLES * used + 4 * BLOCK_ROWS


def _make(db: Database, space_id: str, dims: int) -> None:
    """Make the table anew and empty."""
    db.execute("DROP TABLE IF EXISTS chunks_vec")
    db.execute(
        f"CREATE VIRTUAL TABLE chunks_vec USING vec0("
        f"embedding float[{int(dims)}] distance_metric=cosine, chunk_size={BLOCK_ROWS})"
    )
    _set_state(db, TableState(space_id, dims, False))


def _set_state(db: Database, state: TableState) -> None:
    """Write what the table holds."""
    set_meta(db, STATE, json.dumps([state.space_id, state.dims, state.whole]))
