"""Opens an index for writing: creates, migrates, checks, quarantines or takes over the file as needed.

The path may be empty, or have an index of memd (older, current or damaged) or one that OpenClaw wrote. Any other file,
including an index of a newer release, is refused and stays unchanged.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import apsw
from msgspec import Struct

from memd.index import chunks_vec
from memd.index.database import UNREADABLE_CODES, WRITER, connect, extended_code, passes_check, transaction
from memd.index.integrity.claims import Claim, IndexClaims
from memd.index.integrity.file_check import (
    PATH_HINT,
    SQLITE_SUFFIXES,
    FileKind,
    check_logs,
    inspect,
    is_memd_index,
    refusal,
)
from memd.index.integrity.quarantine import corrupt_files, quarantine, remove_logs
from memd.index.integrity.takeover import (
    copy_vectors,
    has_tables,
    is_openclaw_file,
    make_index,
    take_over_earlier,
)
from memd.index.integrity.upkeep import note_checked, was_closed_cleanly, written_at
from memd.index.meta import active_space, find_meta, set_meta
from memd.index.schema import VERSION, migrate
from memd.system.clock import Clock
from memd.system.log import log
from memd.system.sqlite import Database, get_int
from memd_client.errors import IndexNewerError

COEXISTING_SUFFIX = ".memd"
"""Inserted before the suffix of an index that is created next to a file of OpenClaw, which stays."""

REPLACES = "replaces"
"""Key of the name of the damaged file that this index replaces, once that was reported."""


class OpenedIndex(Struct, frozen=True):
    """An open writer, and the quarantined file it replaces."""

    db: Database
    path: Path
    quarantined: Path | None = None


class _DamagedError(Exception):
    """The file is not a sound SQLite database."""


def open_writer(
    path: Path,
    *,
    load_extension: Callable[[Database], bool],
    clock: Clock,
    earlier: Path | None = None,
    gives_up_reading: bool = True,
    is_own_path: bool = False,
    claim: Claim | None = None,
) -> OpenedIndex:
    """Open an index file for writing, in whatever state it is."""
    claim = claim or partial(IndexClaims().claim, "")
    location = _locate(path, earlier, claim, is_own_path=is_own_path)
    path = location.path
    try:
        if _is_absent(location):
            if location.earlier is not None:
                take_over_earlier(location.earlier, path, claim)
            if not os.path.lexists(path):
                make_index(path)
        db, is_known = _open_sound(path, load_extension, clock())
    except (_DamagedError, apsw.CorruptError, apsw.NotADBError, apsw.IOError) as error:
        if isinstance(error, apsw.IOError) and not (
            gives_up_reading and extended_code(error) in UNREADABLE_CODES
        ):
            raise
        log.warning("index.set_aside", index=str(path), reason=str(error))
        quarantine(path, clock())
        make_index(path)
        db, is_known = _open_sound(path, load_extension, clock())
    try:
        claim([location.configured, path])  # the file that is open now
        quarantined = _use_replaced(path, db)
        if not (is_known and _is_filled(db)):
            _refill(db)
    except BaseException:
        db.close(True)
        raise
    return OpenedIndex(db, path, quarantined)


class _Location(Struct, frozen=True):
    """The configured path of an index, the path that is used, the kind of file there, and an earlier index."""

    configured: Path
    path: Path
    kind: FileKind
    earlier: Path | None


def _locate(configured: Path, earlier: Path | None, claim: Claim, *, is_own_path: bool) -> _Location:
    """Return the location of an agent's index; refuse a file that is not an index of memd."""
    _check_name(configured)
    is_own_path = is_own_path and not configured.is_symlink()
    configured.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    claim([configured])
    path = Path(os.path.realpath(configured)) if configured.is_symlink() else configured
    kind = _kind_of(path)
    if path != configured and kind is not FileKind.OURS:
        raise refusal(configured, f"it is a link to {path}, which is {kind.value}")
    coexisting = path.with_name(f"{path.stem}{COEXISTING_SUFFIX}{path.suffix}")
    if kind is FileKind.UNMARKED and is_openclaw_file(path):
        claim([configured, coexisting])
        path, earlier, kind, is_own_path = coexisting, path, _kind_of(coexisting), False
        if coexisting.is_symlink():
            raise refusal(coexisting, "it is a link")
    elif kind is FileKind.MISSING and earlier is None and is_memd_index(coexisting):
        earlier = coexisting  # created while a file of OpenClaw was at the path
    if not is_own_path:
        if kind not in (FileKind.OURS, FileKind.MISSING):
            raise refusal(path, f"it is {kind.value}, not an index of memd")
        if kind is FileKind.MISSING and path.suffix.lower() == ".md":
            raise refusal(path, "its name ends in .md, like a note", PATH_HINT)
        check_logs(path, is_missing=kind is FileKind.MISSING)
    elif kind is FileKind.DATABASE or (kind is FileKind.UNMARKED and has_tables(path)):
        raise refusal(path, "it belongs to another program")
    return _Location(configured, path, kind, earlier)


def _kind_of(path: Path) -> FileKind:
    try:
        found = inspect(path)
    except (apsw.CorruptError, apsw.NotADBError, apsw.IOError):
        return FileKind.OURS  # it has the id, and is damaged or unreadable
    if found.version > VERSION:
        raise IndexNewerError(
            f"the index {path} has version {found.version}, this release knows {VERSION}",
            data={"path": str(path)},
        )
    return found.kind


def _check_name(path: Path) -> None:
    if path.name.endswith(SQLITE_SUFFIXES):
        raise refusal(path, "its name is that of a log of SQLite", PATH_HINT)
    try:
        str(path).encode()
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode("utf-8", "replace")
        raise refusal(Path(shown), "its name is not UTF-8", PATH_HINT) from None


def _is_absent(location: _Location) -> bool:
    """Return whether an index has to be created; at the default path any other file is a damaged index."""
    if location.kind is FileKind.OTHER:
        raise _DamagedError("not a SQLite file")
    if location.kind is FileKind.EMPTY:
        location.path.unlink()
    if location.kind not in (FileKind.EMPTY, FileKind.MISSING):
        return False
    remove_logs(location.path)  # SQLite would apply an old log to the new file
    return True


def _use_replaced(path: Path, db: Database) -> Path | None:
    """Copy the vectors of the quarantined index that a new one replaces, and remove it if it is sound.

    Returns a damaged one, which stays, or None if that was reported before.
    """
    replaced = corrupt_files(path)[-1:]
    if not replaced or not _is_new(db) or find_meta(db, REPLACES) == replaced[0].name:
        return None
    if is_memd_index(replaced[0]) and copy_vectors(replaced[0], db):
        replaced[0].unlink(missing_ok=True)
        return None
    with transaction(db):
        set_meta(db, REPLACES, replaced[0].name)
    return replaced[0]


def _is_new(db: Database) -> bool:
    return not get_int(db, "SELECT EXISTS (SELECT 1 FROM files)")


def _open_sound(path: Path, load_extension: Callable[[Database], bool], now_ms: int) -> tuple[Database, bool]:
    """Open an index of memd, migrate it, and check it unless it was closed cleanly; return whether it was."""
    written_ns = written_at(path)
    db = connect(path, WRITER)
    try:
        load_extension(db)
        with transaction(db):
            migrate(db)
        is_known = was_closed_cleanly(db, written_ns, now_ms)
        if not is_known:
            if not passes_check(db):
                raise _DamagedError("it fails its integrity check")
            note_checked(db, now_ms)
    except BaseException:
        db.close(True)
        raise
    return db, is_known


def _is_filled(db: Database) -> bool:
    """Return whether `chunks_vec` has all vectors of the active space."""
    space = active_space(db)
    return space is None or chunks_vec.is_whole(db, space.id)


def _refill(db: Database) -> None:
    """Fill `chunks_vec` with the vectors stored while the extension wasn't loaded."""
    remaining = 1
    while remaining:
        with transaction(db):
            remaining = chunks_vec.refill(db)
