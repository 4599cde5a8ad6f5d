"""Keeps the sqlite-vec table `chunks_vec` equal to the vectors of the active space that chunks use.

It only accelerates searches; the BLOBs in `embedding_cache` are authoritative. After a failure the table is marked
incomplete, searches read the BLOBs, and the next `refill` repairs it. Rows are only inserted and deleted, because
sqlite-vec has bugs in updating, replacing and renaming.

Whether the extension is loaded is a property of the connection, so no flag is passed around.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import apsw
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from memd.index.database import has_module, savepoint
from memd.index.meta import active_space, find_meta, set_meta
from memd.index.numbers import pack_ids
from memd.system.log import log
from memd.system.sqlite import Database, get_int

MODULE = "vec0"
STATE = "chunks_vec"

BLOCK_ROWS = 256
"""Rows sqlite-vec allocates at once: with its default of 1,024, ten notes would waste 1.5 MB."""

REFILL_ROWS = 4_096
"""Rows one refill step writes: about 60 ms, so that other writers don't wait long."""

MAX_ALLOCATED_RATIO = 2
"""Ratio of allocated to used rows beyond which the table is rebuilt, because sqlite-vec never reuses freed rows."""


class TableState(Struct, frozen=True):
    """The vector space and dimensions of the table, and whether it has all vectors."""

    space_id: str
    dims: int
    whole: bool


def find_state(db: Database) -> TableState | None:
    """Return the state of the table, or None if there is no table."""
    value = find_meta(db, STATE)
    return None if value is None else TableState(*json.loads(value))


def is_whole(db: Database, space_id: str) -> bool:
    """Return whether the table has all vectors of a space, and the extension is loaded on this connection."""
    state = find_state(db)
    return state is not None and state.whole and state.space_id == space_id and has_module(db, MODULE)


def follow(
    db: Database,
    space_id: str,
    removed: Sequence[int],
    added: Sequence[int],
    matrix: NDArray[np.float32] | None,
) -> None:
    """Delete and insert vectors of the table, inside the caller's transaction.

    A failure is not raised: the table is marked incomplete and no longer used.
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
    """Empty the table if it has vectors of a space that is being deleted."""
    state = find_state(db)
    if state is not None and state.space_id == space_id:
        _set_state(db, TableState(state.space_id, state.dims, False))
        if has_module(db, MODULE):
            _make(db, state.space_id, state.dims)


def refill(db: Database, limit: int = REFILL_ROWS) -> int:
    """Insert at most `limit` missing vectors of the active space; return how many are still missing."""
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
    """Delete surplus rows and insert at most `limit` missing ones; return how many are still missing."""
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
    """Return one column of ids, ascending."""
    return np.sort(np.fromiter((row[0] for row in db.execute(statement, values)), dtype=np.int64))


def _without(ids: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ids that are not among others; both are ascending.

    `np.setdiff1d` would import numpy.ma at its first call, inside a transaction.
    """
    if not others.size:
        return ids
    at = np.minimum(np.searchsorted(others, ids), others.size - 1)
    rest: NDArray[np.int64] = ids[others[at] != ids]
    return rest


def _insert(db: Database, ids: Sequence[int], matrix: NDArray[np.float32]) -> None:
    """Insert rows that are not present."""
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
    """Return whether the table is missing, or has too many unused rows."""
    tables = {row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE name GLOB 'chunks_vec*'")}
    if not {"chunks_vec", "chunks_vec_chunks", "chunks_vec_rowids"} <= tables:
        return True
    allocated = get_int(db, "SELECT coalesce(sum(size), 0) FROM chunks_vec_chunks")
    used = get_int(db, "SELECT count(*) FROM chunks_vec_rowids")
    return allocated > MAX_ALLOCATED_RATIO * used + 4 * BLOCK_ROWS


def _make(db: Database, space_id: str, dims: int) -> None:
    """Replace the table by an empty one."""
    db.execute("DROP TABLE IF EXISTS chunks_vec")
    db.execute(
        f"CREATE VIRTUAL TABLE chunks_vec USING vec0("
        f"embedding float[{int(dims)}] distance_metric=cosine, chunk_size={BLOCK_ROWS})"
    )
    _set_state(db, TableState(space_id, dims, False))


def _set_state(db: Database, state: TableState) -> None:
    set_meta(db, STATE, json.dumps([state.space_id, state.dims, state.whole]))
