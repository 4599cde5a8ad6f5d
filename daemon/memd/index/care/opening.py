"""From whatever lies at the path to an open, current, sound index.

Nothing, an index of ours (older, current or damaged), and one that OpenClaw wrote: all end as an open writer. Anything
else, a file of a newer release among it, is left exactly as it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import apsw
import structlog

from memd.index import chunks_vec
from memd.index.care.claims import IndexClaim, IndexClaims
from memd.index.care.file_check import LOG_FILES, FileKind, check_logs, inspect, is_ours, refused
from memd.index.care.quarantine import corrupt_files, dropped_file, remove, remove_logs, set_aside
from memd.index.care.takeover import bring_over, copy_vectors, has_tables, is_openclaw_file, make_index
from memd.index.care.upkeep import is_as_closed, note_checked, written_at
from memd.index.database import (
    UNREADABLE,
    WRITER,
    Database,
    connect,
    extended_code,
    get_int,
    passes_check,
    transaction,
)
from memd.index.meta import active_space, find_meta, set_meta
from memd.index.openclaw.adopt import Adopted, SpaceOf
from memd.index.schema import VERSION, migrate
from memd.system.clock import Clock
from memd_client.errors import IndexNewerError

log = structlog.get_logger(__name__)

ADOPTING_SUFFIX = ".adopting"
"""Name of a file that an earlier release built to replace an OpenClaw index; a leftover is removed."""

OURS_BESIDE = ".memd"
"""Before the suffix of the index that is made beside a file of OpenClaw, which stays."""

REPLACES = "replaces"
"""Key of the name of the damaged file that an index was made in the place of, once that was reported."""


@dataclass(frozen=True, slots=True)
class Opened:
    """An open writer, and what it took to get there."""

    db: Database
    path: Path
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
    is_own_path: bool = False,
    claim: IndexClaim | None = None,
) -> Opened:
    """Open an index file for writing, in whatever state it is."""
    claim = claim or IndexClaims().of("")
    place = _find_place(path, earlier, claim, is_own_path=is_own_path)
    path = place.path
    adopted = None
    try:
        if _is_absent(place):
            if place.earlier is not None:
                adopted = bring_over(place.earlier, path, claim, clock, space_of)
            if not os.path.lexists(path):
                make_index(path, claim)
        db, is_known = _open_sound(path, load_extension, clock())
    except (_DamagedError, apsw.CorruptError, apsw.NotADBError, apsw.IOError) as error:
        if isinstance(error, apsw.IOError) and not (gives_up_reading and extended_code(error) in UNREADABLE):
            raise
        log.warning("index.set_aside", index=str(path), reason=str(error))
        set_aside(path, clock())
        adopted = None
        make_index(path, claim)
        db, is_known = _open_sound(path, load_extension, clock())
    try:
        claim.add(path)  # the file that is open by now
        claim.keep_only(place.named, path)
        _keep_vectors(path, db)
        aside = _find_replaced(path, db)
        if not (is_known and _is_filled(db)):
            _refill(db)
    except BaseException:
        db.close(True)
        raise
    return Opened(db, path, aside, adopted)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the index is or will be: `named` as configured, `path` as it is used, `kind` what lies there."""

    named: Path
    path: Path
    kind: FileKind
    earlier: Path | None


def _find_place(named: Path, earlier: Path | None, claim: IndexClaim, *, is_own_path: bool) -> _Place:
    """Return where the index of an agent is, or will be; refuse what is no index of memd and leave it as it is."""
    _check_name(named)
    is_own_path = is_own_path and not named.is_symlink()
    named.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    claim.keep_only(named)
    claim.add(named)
    path = Path(os.path.realpath(named)) if named.is_symlink() else named
    kind = _kind_of(path)
    if path != named and kind is not FileKind.OURS:
        raise refused(named, f"it is a link to {path}, which is {kind.value}")
    beside = path.with_name(f"{path.stem}{OURS_BESIDE}{path.suffix}")
    if kind is FileKind.UNMARKED and is_openclaw_file(path):
        claim.add(beside)
        path, earlier, kind, is_own_path = beside, path, _kind_of(beside), False
        if beside.is_symlink():
            raise refused(beside, "it is a link")
    elif kind is FileKind.MISSING and earlier is None and is_ours(beside):
        earlier = beside  # made while a file of OpenClaw was at the path
    if not is_own_path:
        if kind not in (FileKind.OURS, FileKind.MISSING):
            raise refused(path, f"it is {kind.value}, not an index of memd")
        if kind is FileKind.MISSING and path.suffix.lower() == ".md":
            raise refused(
                path, "a name that ends in .md is that of a note", "Set store.path to another file."
            )
        check_logs(path, is_missing=kind is FileKind.MISSING)
    elif kind is FileKind.DATABASE or (kind is FileKind.UNMARKED and has_tables(path)):
        raise refused(path, "it belongs to another program")
    _remove_adopting(path, is_own_path=is_own_path)
    return _Place(named, path, kind, earlier)


def _kind_of(path: Path) -> FileKind:
    try:
        found = inspect(path)
    except (apsw.CorruptError, apsw.NotADBError, apsw.IOError):
        return FileKind.OURS  # it carries the id, and is damaged or unreadable
    if found.version > VERSION:
        raise IndexNewerError(
            f"the index {path} has version {found.version}, this release knows {VERSION}",
            data={"path": str(path)},
        )
    return found.kind


def _check_name(path: Path) -> None:
    if path.name.endswith(LOG_FILES):
        raise refused(path, "its name is that of a log of SQLite", "Set store.path to another file.")
    try:
        str(path).encode()
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode("utf-8", "replace")
        raise refused(Path(shown), "its name is not UTF-8", "Set store.path to another file.") from None


def _is_absent(place: _Place) -> bool:
    """Return whether an index has to be made; what is no database at our own path is damaged."""
    if place.kind is FileKind.OTHER:
        raise _DamagedError("not a SQLite file")
    if place.kind is FileKind.EMPTY:
        place.path.unlink()
    if place.kind not in (FileKind.EMPTY, FileKind.MISSING):
        return False
    remove_logs(place.path)  # SQLite would bring an old log into the new file
    return True


def _remove_adopting(path: Path, *, is_own_path: bool) -> None:
    """Remove what an earlier release left of an adoption; never a file that may be another's."""
    half = path.with_name(path.name + ADOPTING_SUFFIX)
    if is_own_path or is_ours(half):
        remove(half)


def _keep_vectors(path: Path, db: Database) -> None:
    """Copy the vectors of a dropped index into the new one, and remove the dropped one."""
    dropped = dropped_file(path)
    if is_ours(dropped):
        if _is_new(db):
            copy_vectors(dropped, db)
        dropped.unlink(missing_ok=True)


def _find_replaced(path: Path, db: Database) -> Path | None:
    """Return the damaged file that a new index was made in the place of, None if that was reported before."""
    damaged = corrupt_files(path)
    if not damaged or not _is_new(db) or find_meta(db, REPLACES) == damaged[-1].name:
        return None
    with transaction(db):
        set_meta(db, REPLACES, damaged[-1].name)
    return damaged[-1]


def _is_new(db: Database) -> bool:
    return not get_int(db, "SELECT EXISTS (SELECT 1 FROM files)")


def _open_sound(path: Path, load_extension: Callable[[Database], bool], now_ms: int) -> tuple[Database, bool]:
    """Open one of our files, bring it to the current version and check it."""
    written_ns = written_at(path)
    db = connect(path, WRITER)
    try:
        load_extension(db)
        with transaction(db):
            migrate(db)
        is_known = is_as_closed(db, written_ns, now_ms)
        if not is_known:
            if not passes_check(db):
                raise _DamagedError("it fails its integrity check")
            note_checked(db, now_ms)
    except BaseException:
        db.close(True)
        raise
    return db, is_known


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
