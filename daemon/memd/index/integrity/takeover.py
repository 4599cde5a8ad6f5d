"""Creates an index, and fills it from an earlier one.

An index of memd at an earlier path is moved. One that OpenClaw wrote is copied and stays unchanged. From a dropped one
the vectors are copied.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

import apsw
import structlog

from memd.index.adopt import AdoptedCounts, SpaceOf, adopt_index, is_openclaw_index
from memd.index.database import NEW_FILE, connect, passes_check, transaction
from memd.index.integrity.claims import IndexClaim
from memd.index.integrity.file_check import SQLITE_SUFFIXES, FileKind, inspect
from memd.index.integrity.quarantine import sync_directory
from memd.index.meta import ACTIVE_SPACE, JOBS, SPACES
from memd.index.schema import migrate
from memd.system.clock import Clock
from memd.system.sqlite import READ_ONLY, Database, get_int, with_settings
from memd.system.state_file import open_regular
from memd.system.temp_files import temp_file
from memd_client.errors import MemdError

log = structlog.get_logger(__name__)

BUSY_MS = 5_000
"""Longest wait for another process to close an index that is to be moved."""

NO_SPACE = (errno.ENOSPC, errno.EDQUOT)

COPY_BYTES = 1024 * 1024


class NotMovableError(Exception):
    """The earlier index can't be taken over now."""


def make_index(path: Path, claim: IndexClaim) -> None:
    """Create an empty index atomically; never replaces another file."""
    with temp_file(path.parent) as (_, temp):
        new = connect(temp, NEW_FILE)
        try:
            with transaction(new):
                migrate(new)
        finally:
            new.close(True)
        claim.add(temp)
        try:
            os.link(temp, path)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            if os.path.lexists(path):
                raise
            os.rename(temp, path)
        claim.add(path)
    sync_directory(path.parent)


def take_over_earlier(
    earlier: Path, path: Path, claim: IndexClaim, clock: Clock, space_of: SpaceOf
) -> AdoptedCounts | None:
    """Move or adopt an earlier index; one that can't be used stays, and the index is built from the Markdown."""
    try:
        if earlier.is_symlink() or claim.is_others(earlier):
            return None
        kind = inspect(earlier).kind
        if kind is FileKind.OURS:
            _move(earlier, path, claim)
            log.info("index.moved", index=str(path), earlier=str(earlier))
        return _adopt(earlier, path, claim, clock, space_of) if kind is FileKind.UNMARKED else None
    except (NotMovableError, MemdError, apsw.Error, OSError) as error:
        if isinstance(error, apsw.FullError) or getattr(error, "errno", None) in NO_SPACE:
            raise  # retried later: a full disk is no reason to abandon the earlier index
        log.warning("index.not_taken_over", index=str(path), earlier=str(earlier), reason=str(error))
        return None


def copy_vectors(dropped: Path, db: Database) -> None:
    """Copy the vectors of a dropped index with their provider recipes, active space and unfinished batch jobs.

    All or nothing: from a damaged index nothing is copied, and its texts are embedded again.
    """
    try:
        with closing(_connect_immutable(dropped)) as old, transaction(db):
            if not passes_check(old):
                raise apsw.CorruptError("the dropped index fails its integrity check")
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
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, apsw.IOError) as error:
        log.warning("index.vectors_not_kept", index=str(dropped), reason=type(error).__name__)
    else:
        log.info("index.vectors_taken_over", index=str(dropped), vectors=vectors)


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


def _move(earlier: Path, path: Path, claim: IndexClaim) -> None:
    """Move an index of memd after a checkpoint, because its log would stay behind."""
    claim.add(earlier)
    db = connect(earlier, ())
    try:
        db.set_busy_timeout(BUSY_MS)
        if db.pragma("journal_mode", "delete") != "delete":
            raise NotMovableError("another process has it open")
    finally:
        db.close(True)
    os.replace(earlier, path)
    sync_directory(path.parent)


def _adopt(
    earlier: Path, path: Path, claim: IndexClaim, clock: Clock, space_of: SpaceOf
) -> AdoptedCounts | None:
    """Build an index of memd from one that OpenClaw wrote, which stays unchanged.

    Built as a temporary file, so that a killed process leaves either no index or a complete one.
    """
    if not is_openclaw_file(earlier):
        return None
    with _open_unchanged(earlier, path.parent) as old, temp_file(path.parent) as (_, temp):
        if not passes_check(old):
            raise NotMovableError("it fails its integrity check")
        new = connect(temp, NEW_FILE)
        try:
            with transaction(new):
                migrate(new)
                adopted = adopt_index(old, new, clock(), space_of)
        finally:
            new.close(True)
        claim.add(temp)
        os.replace(temp, path)
        sync_directory(path.parent)
    log.info(
        "index.adopted", index=str(path), files=adopted.files, chunks=adopted.chunks, vectors=adopted.vectors
    )
    return adopted


@contextmanager
def _open_unchanged(path: Path, folder: Path) -> Iterator[Database]:
    """Yield a reader of another program's database that creates no lock, log or shared memory."""
    log_file = path.with_name(path.name + "-wal")
    if not log_file.is_file() or not log_file.stat().st_size:
        with closing(_connect_immutable(path)) as db:
            yield db
        return
    with temp_file(folder) as (_, copy):
        try:
            _copy(path, copy)
            _copy(log_file, copy.with_name(copy.name + "-wal"))
            with closing(with_settings(apsw.Connection(str(copy)), READ_ONLY)) as db:
                yield db
        finally:
            for suffix in SQLITE_SUFFIXES:
                copy.with_name(copy.name + suffix).unlink(missing_ok=True)


def _connect_immutable(path: Path) -> Database:
    """Return a connection that reads a file as immutable: without locks and without its log."""
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return with_settings(apsw.Connection(f"file:{quote(str(path))}?immutable=1", flags=flags), READ_ONLY)


def _copy(source: Path, copy: Path) -> None:
    """Copy a file to a private file of this user."""
    handle = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(handle, "wb") as writer, open_regular(source) as reader:
        while part := reader.read(COPY_BYTES):
            writer.write(part)
