"""Creates an index, and fills it from an earlier one.

An index of memd at an earlier path is moved. The vectors of a quarantined one are copied, if it is sound.
"""

from __future__ import annotations

import errno
import os
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import apsw

from memd.index.adopt import is_openclaw_index
from memd.index.database import NEW_FILE, connect, passes_check, transaction
from memd.index.integrity.claims import Claim
from memd.index.integrity.file_check import FileKind, inspect
from memd.index.integrity.quarantine import sync_directory
from memd.index.meta import ACTIVE_SPACE, JOBS, SPACES
from memd.index.schema import migrate
from memd.system.log import log
from memd.system.sqlite import READ_ONLY, Database, get_int, with_settings
from memd.system.temp_files import temp_file
from memd_client.errors import MemdError

BUSY_MS = 5_000
"""Longest wait for another process to close an index that is to be moved."""

NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, apsw.ConstraintError, apsw.IOError)
"""Errors of reading vectors from a damaged index, or of writing what was read."""


class NotMovableError(Exception):
    """The earlier index can't be taken over now."""


def make_index(path: Path) -> None:
    """Create an empty index atomically; never replaces another file."""
    with temp_file(path.parent) as (_, temp):
        new = connect(temp, NEW_FILE)
        try:
            with transaction(new):
                migrate(new)
        finally:
            new.close(True)
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, "another file appeared at the path", str(path))
        os.replace(temp, path)
    sync_directory(path.parent)


def take_over_earlier(earlier: Path, path: Path, claim: Claim) -> None:
    """Move an earlier index of memd; one that can't be moved stays, and the index is built from the Markdown."""
    try:
        if earlier.is_symlink():
            return
        claim([path, earlier])
        if inspect(earlier).kind is FileKind.OURS:
            _move(earlier, path)
            log.info("index.moved", index=str(path), earlier=str(earlier))
    except (NotMovableError, MemdError, apsw.Error, OSError) as error:
        if isinstance(error, apsw.FullError) or getattr(error, "errno", None) in NO_SPACE:
            raise  # retried later: a full disk is no reason to abandon the earlier index
        log.warning("index.not_taken_over", index=str(path), earlier=str(earlier), reason=str(error))


def copy_vectors(old_path: Path, db: Database) -> bool:
    """Copy the vectors of an index with their provider recipes, active space and unfinished batch jobs.

    All or nothing: from a damaged index nothing is copied, and its texts are embedded again. Returns whether the index
    is sound.
    """
    try:
        with closing(_connect_immutable(old_path)) as old, transaction(db):
            if not passes_check(old):
                raise apsw.CorruptError("it fails its integrity check")
            db.executemany(
                """INSERT OR IGNORE INTO embedding_cache
                   (provider, model, provider_key, hash, dims, updated_at, embedding) VALUES (?, ?, ?, ?, ?, ?, ?)""",
                old.execute(
                    "SELECT provider, model, provider_key, hash, dims, updated_at, embedding FROM embedding_cache"
                ),
            )
            db.executemany(
                "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)",
                old.execute(
                    "SELECT key, value FROM meta WHERE key IN (?, ?) OR key LIKE ?",
                    (ACTIVE_SPACE, SPACES, f"{JOBS}:%"),
                ),
            )
            vectors = get_int(db, "SELECT count(*) FROM embedding_cache")
    except (*DAMAGE, UnicodeDecodeError) as error:
        log.warning("index.vectors_not_kept", index=str(old_path), reason=type(error).__name__)
        return False
    log.info("index.vectors_taken_over", index=str(old_path), vectors=vectors)
    return True


def is_openclaw_file(path: Path) -> bool:
    """Return whether a database without an application id is an index of OpenClaw; read-only."""
    try:
        with closing(_connect_immutable(path)) as db:
            return is_openclaw_index(db)
    except apsw.Error:
        return False


def has_tables(path: Path) -> bool:
    """Return whether a database has any tables; read-only."""
    with closing(_connect_immutable(path)) as db:
        return bool(db.execute("SELECT count(*) FROM sqlite_schema").get)


def _move(earlier: Path, path: Path) -> None:
    """Move an index of memd after a checkpoint, because its log would stay behind."""
    db = connect(earlier, ())
    try:
        db.set_busy_timeout(BUSY_MS)
        if db.pragma("journal_mode", "delete") != "delete":
            raise NotMovableError("another process has it open")
    finally:
        db.close(True)
    os.replace(earlier, path)
    sync_directory(path.parent)


def _connect_immutable(path: Path) -> Database:
    """Return a connection that reads a file as immutable: without locks and without its log."""
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return with_settings(apsw.Connection(f"file:{quote(str(path))}?immutable=1", flags=flags), READ_ONLY)
