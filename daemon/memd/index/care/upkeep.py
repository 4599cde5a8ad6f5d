"""An open index kept small and looked after: free pages, the log, whether its tables are sound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from memd.index.database import BUSY_MS, WAL_LIMIT_BYTES, Database, get_int

FREE_PAGES_KEPT = 256
FREE_SHARE = 8
"""Pages are given back when more than 256 (2 MB), and more than an eighth of the file, are free."""

FREE_PAGES_AT_ONCE = 512
"""Pages given back after one write: 4 MB, some milliseconds."""

ALL_PAGES = 2**31 - 1
"""At closing nobody waits: everything free is given back."""

TABLES = frozenset(
    {"meta", "files", "chunks", "embedding_cache", "chunks_fts", "transcripts", "refused_texts"}
)
"""What every current index has."""


def log_of(path: Path) -> Path:
    """Return where SQLite keeps the write-ahead log of a file."""
    return path.with_name(path.name + "-wal")


def size_of(path: Path) -> int:
    """Return the length of a file, 0 where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def give_back(db: Database, pages: int = FREE_PAGES_AT_ONCE) -> None:
    """Give free pages back to the system where there are many."""
    free = get_int(db, "PRAGMA freelist_count")
    if free > FREE_PAGES_KEPT and free * FREE_SHARE > get_int(db, "PRAGMA page_count"):
        db.execute(f"PRAGMA incremental_vacuum({pages})").fetchall()


def fold_log(db: Database, *, wait: bool) -> bool:
    """Bring the log into the file and cut it to nothing, unless somebody still reads from it."""
    with _patience(db, BUSY_MS if wait else 0):
        row = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return row is not None and row[0] == 0


def fold_long_log(db: Database, path: Path) -> None:
    """Bring the log into the file where it has outgrown its limit: no later write may come to do that."""
    if size_of(log_of(path)) > WAL_LIMIT_BYTES + WAL_LIMIT_BYTES // 8:
        fold_log(db, wait=False)


def is_sound(connect: Callable[[], Database]) -> bool:
    """Return whether an index has all its tables and SQLite finds them sound."""
    try:
        db = connect()
    except (apsw.CorruptError, apsw.NotADBError):
        return False
    try:
        names = {row[0] for row in db.execute("SELECT name FROM sqlite_schema")}
        return names >= TABLES and db.execute("PRAGMA quick_check(1)").fetchall() == [("ok",)]
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError):
        return False
    finally:
        db.close(True)


@contextmanager
def _patience(db: Database, wait_ms: int) -> Iterator[None]:
    """Wait so long for locks inside the block."""
    db.set_busy_timeout(wait_ms)
    try:
        yield
    finally:
        db.set_busy_timeout(BUSY_MS)
