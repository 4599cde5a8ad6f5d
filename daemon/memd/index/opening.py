"""From whatever lies at the path to an open, current, sound index.

Nothing, an empty file, one of ours (older or current), one OpenClaw wrote, a damaged one: all end as an open
writer. A file of a newer release, and a file of another program, are left exactly as they are.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import apsw
import structlog

from memd.clock import Clock
from memd.index import chunks_vec
from memd.index.adopt import Adopted, SpaceOf, adopt_index, is_openclaw_index
from memd.index.aside import corrupt_files, dropped_file, remove, set_aside, sync_directory
from memd.index.database import (
    BESIDE,
    UNREADABLE,
    WRITER,
    Database,
    connect,
    connect_read_only,
    extended_code,
    get_int,
    io_error,
    transaction,
)
from memd.index.mark import is_as_closed, note_checked, written_at
from memd.index.meta import active_space, find_meta, set_meta
from memd.index.salvage import salvage
from memd.index.schema import APPLICATION_ID, VERSION, migrate
from memd_client.errors import IndexNewerError

log = structlog.get_logger(__name__)

MAGIC = b"SQLite format 3\0"
HEADER_BYTES = 100
"""Length of SQLite's file header; see its file format documentation for the offsets below."""
USER_VERSION_AT = 60
APPLICATION_ID_AT = 68

BESIDE_SUFFIX = ".adopting"
"""Name of a file being built to replace an OpenClaw index; a leftover is removed at the next start."""

BUSY_MS = 5_000
"""How long somebody who holds a file to be taken over is waited for."""

TAKEN_OVER = "taken_over"
"""Key of the names of the damaged files whose vectors were taken over, with commas between."""


@dataclass(frozen=True, slots=True)
class Opened:
    """An open writer, and what it took to get there."""

    db: Database
    set_aside: Path | None = None
    adopted: Adopted | None = None


class _DamagedError(Exception):
    """The file is not a sound SQLite database."""


def open_writer(
    path: Path,
    *,
    load_extension: Callable[[Database], bool],
    clock: Clock,
    space_of: SpaceOf,
    earlier: Path | None = None,
    gives_up_reading: bool = True,
) -> Opened:
    """Open an index file for writing, whatever state it is in.

    Args:
        path: The file; its directory is made, private, where it is missing.
        load_extension: Loads sqlite-vec into a connection where it can be used.
        clock: Wall time.
        space_of: Gives the vector space of a provider and model, for an index OpenClaw wrote.
        earlier: Where an index may be left from before. Where there is none at the path, one of ours is moved here,
            and one that OpenClaw wrote is read and stays.
        gives_up_reading: Whether a file whose bytes the disk doesn't give is set aside like a damaged one.

    Raises:
        IndexNewerError: A newer release wrote the file; it is untouched.
        IndexIOError: Another program's file, untouched; or it can't be read or written.
        apsw.Error, OSError: Anything else; the caller stands inside `map_errors`.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    remove(path.with_name(path.name + BESIDE_SUFFIX))
    adopted = None
    try:
        adopted = _check_owner(path, clock, space_of)
        if earlier is not None and _is_empty(path):
            adopted = _bring_over(earlier, path, clock, space_of)
        db, is_known = _open_sound(path, load_extension, clock())
    except (_DamagedError, apsw.CorruptError, apsw.NotADBError, apsw.IOError) as error:
        if isinstance(error, apsw.IOError) and not (gives_up_reading and extended_code(error) in UNREADABLE):
            raise
        log.warning("index.set_aside", index=str(path), reason=str(error))
        set_aside(path, clock())
        adopted = None
        db, is_known = _open_sound(path, load_extension, clock())
    try:
        aside = _take_over(path, db)
        if not (is_known and _is_filled(db)):
            _refill(db)
    except BaseException:
        db.close(True)
        raise
    return Opened(db, aside, adopted)


def _take_over(path: Path, db: Database) -> Path | None:
    """Take the vectors of earlier files into a new index; return the newest where it was damaged.

    All of it is one transaction, and noted: a kill at any moment leaves it to the next opening.
    """
    dropped, damaged = dropped_file(path), corrupt_files(path)
    noted = (find_meta(db, TAKEN_OVER) or "").split(",")
    earlier = [file for file in damaged if file.name not in noted]
    if dropped.exists():
        earlier.append(dropped)
    is_new = not get_int(db, "SELECT EXISTS (SELECT 1 FROM files)")
    if is_new and earlier:
        with transaction(db):
            vectors = max(salvage(file, db) for file in earlier)
            set_meta(db, TAKEN_OVER, ",".join(file.name for file in damaged))
        log.info("index.vectors_taken_over", index=str(path), vectors=vectors)
    dropped.unlink(missing_ok=True)
    return damaged[-1] if is_new and damaged and damaged[-1] in earlier else None


def _check_owner(path: Path, clock: Clock, space_of: SpaceOf) -> Adopted | None:
    """Refuse what isn't ours, adopt what OpenClaw wrote, leave the rest."""
    if _is_empty(path):
        return None
    version, application = _identity(path)
    if application == APPLICATION_ID or (application == 0 and version == 0):
        if version > VERSION:
            raise IndexNewerError(
                f"the index {path} has version {version}, this release knows {VERSION}",
                data={"path": str(path)},
            )
        return _adopt(path, clock, space_of) if version == 0 else None
    raise io_error(path, "it belongs to another program; set store.path to another file")


def _is_empty(path: Path) -> bool:
    """Return whether there is nothing at a path, or a file without a byte."""
    return not path.exists() or path.stat().st_size == 0


def _bring_over(earlier: Path, path: Path, clock: Clock, space_of: SpaceOf) -> Adopted | None:
    """Take over what is left from before. What can't be is left alone: an index comes back from the Markdown."""
    try:
        if _is_empty(earlier):
            return None
        version, application = _identity(earlier)
        if application == APPLICATION_ID:
            _move(earlier, path)
            log.info("index.moved", index=str(path), earlier=str(earlier))
            return None
        return _adopt_copy(earlier, path, clock, space_of) if (version, application) == (0, 0) else None
    except (_DamagedError, apsw.Error, OSError) as error:
        log.warning("index.not_taken_over", index=str(path), earlier=str(earlier), reason=str(error))
        return None


def _move(earlier: Path, path: Path) -> None:
    """Move one of our files, its log brought in first: what stood beside it would be lost."""
    db = connect(earlier, ())
    try:
        db.set_busy_timeout(BUSY_MS)
        if db.pragma("journal_mode", "delete") != "delete":
            raise _DamagedError("another process holds it open")
    finally:
        db.close(True)
    os.replace(earlier, path)
    sync_directory(path.parent)


def _identity(path: Path) -> tuple[int, int]:
    """Return (user_version, application_id) without changing a byte on disk.

    They stand in the header, unless a log beside the file is newer: then SQLite is asked, read-only.
    """
    with path.open("rb") as file:
        header = file.read(HEADER_BYTES)
    if len(header) < HEADER_BYTES or not header.startswith(MAGIC):
        raise _DamagedError("not a SQLite file")
    log_file = path.with_name(path.name + "-wal")
    if not log_file.exists() or log_file.stat().st_size == 0:
        return (
            int.from_bytes(header[USER_VERSION_AT : USER_VERSION_AT + 4], "big"),
            int.from_bytes(header[APPLICATION_ID_AT : APPLICATION_ID_AT + 4], "big"),
        )
    db = connect_read_only(path)
    try:
        return int(db.pragma("user_version")), int(db.pragma("application_id"))
    finally:
        db.close(True)


def _open_sound(path: Path, load_extension: Callable[[Database], bool], now_ms: int) -> tuple[Database, bool]:
    """Open one of our files, or make it, bring it to the current version and check it.

    Returns:
        The writer, and whether the file is as a clean stop left it: then it wasn't read as a whole, which takes some
        200 ms for 15,000 chunks.
    """
    written_ns = written_at(path)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # -wal and -shm get the same mode
    db = connect(path, WRITER)
    try:
        load_extension(db)
        with transaction(db):
            migrate(db)
        is_known = is_as_closed(db, written_ns, now_ms)
        if not is_known:
            _check(db)
            note_checked(db, now_ms)
    except BaseException:
        db.close(True)
        raise
    return db, is_known


def _check(db: Database) -> None:
    """Read the whole of a file; raise `_DamagedError` where it isn't sound."""
    if db.execute("PRAGMA quick_check(1)").fetchall() != [("ok",)]:
        raise _DamagedError("it fails its integrity check")


def _adopt(path: Path, clock: Clock, space_of: SpaceOf) -> Adopted | None:
    """Replace an index OpenClaw wrote by one of ours, in one move; None where there is nothing in it."""
    old = connect(path, ())
    try:
        if not _holds_openclaw(old, path):
            return None
        # A log left beside the file would be taken for the new file's: bring it in and remove it first.
        old.set_busy_timeout(BUSY_MS)
        if old.pragma("journal_mode", "delete") != "delete":
            raise io_error(
                path, "another process (OpenClaw's own memory index?) holds it open; stop it first"
            )
        return _build(old, path, clock, space_of)
    finally:
        old.close(True)


def _adopt_copy(earlier: Path, path: Path, clock: Clock, space_of: SpaceOf) -> Adopted | None:
    """Make one of our files out of an index that OpenClaw wrote and keeps."""
    old = connect_read_only(earlier)
    try:
        return _build(old, path, clock, space_of) if is_openclaw_index(old) else None
    finally:
        old.close(True)


def _holds_openclaw(old: Database, path: Path) -> bool:
    """Return whether a file holds an index that OpenClaw wrote; false where it holds nothing.

    Raises:
        IndexIOError: It holds something else.
    """
    if not old.execute("SELECT count(*) FROM sqlite_schema WHERE type = 'table'").get:
        return False
    if not is_openclaw_index(old):
        raise io_error(path, "it belongs to another program; set store.path to another file")
    return True


def _build(old: Database, path: Path, clock: Clock, space_of: SpaceOf) -> Adopted:
    """Build one of our files beside the path, and move it there.

    A kill leaves what was there or the new file, whole, and the space that vectors as JSON took is free at once.
    """
    _check(old)
    beside = path.with_name(path.name + BESIDE_SUFFIX)
    try:
        os.close(os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        new = connect(beside, BESIDE)
        try:
            with transaction(new):
                migrate(new)
                adopted = adopt_index(old, new, clock(), space_of)
        finally:
            new.close(True)
    except BaseException:
        remove(beside)
        raise
    os.replace(beside, path)
    sync_directory(path.parent)
    log.info(
        "index.adopted", index=str(path), files=adopted.files, chunks=adopted.chunks, vectors=adopted.vectors
    )
    return adopted


def _is_filled(db: Database) -> bool:
    """Return whether `chunks_vec` holds all it should."""
    space = active_space(db)
    return space is None or chunks_vec.is_whole(db, space.id)


def _refill(db: Database) -> None:
    """Mend whatever `chunks_vec` missed while the extension wasn't there."""
    remaining = 1
    while remaining:
        with transaction(db):
            remaining = chunks_vec.refill(db)
