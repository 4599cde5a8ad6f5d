"""Opening an index, in whatever state its file is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from memd.index.connection import IndexFile
from memd.index.database import map_errors
from memd.index.schema import VERSION
from memd.system.sqlite import Database
from memd_client.errors import (
    DeadlineExceededError,
    IndexClosedError,
    IndexCorruptError,
    IndexIOError,
    IndexNewerError,
    MemdError,
)
from tests.support.indexes import find_inconsistencies, new_index, publish, store, unit
from tests.support.open_indexes import open_and_close

NOW_MS = 1_767_225_600_000
"""2026-01-01T00:00:00Z."""


def open_own(path: Path, now_ms: int = NOW_MS) -> tuple[IndexFile, int]:
    """Open, check and close an index at memd's default path; return it and its number of chunks."""

    def check(db: Database) -> None:
        assert find_inconsistencies(db) == []

    return open_and_close(path, now_ms, write=check, is_own_path=True)


def sound(path: Path) -> None:
    """Create an index with some chunks and vectors."""
    db = new_index(path)
    texts = [f"line {number} " + "word " * 100 for number in range(200)]
    publish(db, "memory/a.md", texts)
    store(db, texts, unit([[number + 1.0, 1.0] for number in range(200)]))
    db.close()


def names(directory: Path) -> list[str]:
    """Return the names in a directory."""
    return sorted(entry.name for entry in directory.iterdir())


def missing(path: Path) -> None:
    path.parent.rmdir()


def empty(path: Path) -> None:
    path.touch()


@pytest.mark.parametrize(("make", "chunks"), [(missing, 0), (empty, 0), (sound, 200)])
def test_missing_empty_or_sound_file_is_opened(
    tmp_path: Path, make: Callable[[Path], None], chunks: int
) -> None:
    path = tmp_path / "memory" / "agent.sqlite"
    path.parent.mkdir()
    make(path)
    index, held = open_own(path)
    assert (index.quarantined, held) == (None, chunks)


def garbage(path: Path) -> None:
    path.write_bytes(os.urandom(20_000))


def short(path: Path) -> None:
    path.write_bytes(b"SQLite")


def wrong_magic(path: Path) -> None:
    sound(path)
    with path.open("r+b") as file:
        file.write(b"SQLight format 3")


def truncated(path: Path) -> None:
    sound(path)
    os.truncate(path, path.stat().st_size // 2 + 100)


def truncated_at_a_page(path: Path) -> None:
    sound(path)
    os.truncate(path, 8192 * 5)


def page_damaged(path: Path) -> None:
    sound(path)
    with path.open("r+b") as file:
        for page in range(4, path.stat().st_size // 8192, 3):
            file.seek(page * 8192)
            file.write(b"\xa5" * 64)


def header_only(path: Path) -> None:
    sound(path)
    os.truncate(path, 100)


DAMAGES = [garbage, short, wrong_magic, truncated, truncated_at_a_page, page_damaged, header_only]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_file_is_quarantined_and_replaced(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    path = tmp_path / "agent.sqlite"
    damage(path)
    (tmp_path / "agent.sqlite-wal").write_bytes(b"left over")
    index, chunks = open_own(path)
    assert chunks == 0
    assert index.quarantined == tmp_path / "agent.sqlite.corrupt-20260101T000000Z"
    assert names(tmp_path) == ["agent.sqlite", "agent.sqlite.corrupt-20260101T000000Z"]
    assert open_own(path)[0].quarantined is None


def test_only_the_newest_quarantined_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "agent.sqlite"
    for day, size in enumerate((100_000, 20_000, 20_000)):
        path.write_bytes(b"x" * size)
        open_own(path, NOW_MS + day * 86_400_000)
    assert names(tmp_path) == ["agent.sqlite", "agent.sqlite.corrupt-20260103T000000Z"]


@pytest.mark.parametrize("with_log", [False, True])
def test_newer_index_is_refused_and_unchanged(tmp_path: Path, with_log: bool) -> None:
    path = tmp_path / "agent.sqlite"
    sound(path)
    db = apsw.Connection(str(path))
    db.pragma("user_version", VERSION + 1)
    if with_log:
        copies = {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()}
        db.close()
        for name, content in copies.items():
            (tmp_path / name).write_bytes(content)
        assert (tmp_path / "agent.sqlite-wal").stat().st_size > 0
    else:
        db.close()
    before = {name: (tmp_path / name).read_bytes() for name in names(tmp_path) if not name.endswith("-shm")}
    with pytest.raises(IndexNewerError, match=f"version {VERSION + 1}"):
        open_own(path)
    after = {name: (tmp_path / name).read_bytes() for name in names(tmp_path) if not name.endswith("-shm")}
    assert after == before


@pytest.mark.parametrize("version", [0, 23])
def test_file_of_another_program_is_refused_and_unchanged(tmp_path: Path, version: int) -> None:
    path = tmp_path / "agent.sqlite"
    db = apsw.Connection(str(path))
    db.execute("CREATE TABLE conversations (text TEXT)")
    db.pragma("user_version", version)
    db.close()
    before = path.read_bytes()
    with pytest.raises(IndexIOError, match="belongs to another program"):
        open_own(path)
    assert path.read_bytes() == before


def test_path_that_is_not_a_file_raises_an_error_naming_it(tmp_path: Path) -> None:
    (tmp_path / "agent.sqlite").mkdir()
    with pytest.raises(IndexIOError, match=r"agent\.sqlite can't be used"):
        open_own(tmp_path / "agent.sqlite")
    (tmp_path / "file").touch()
    with pytest.raises(IndexIOError, match=r"file/agent\.sqlite can't be used"):
        open_own(tmp_path / "file" / "agent.sqlite")


@pytest.mark.parametrize(
    ("foreign", "ours"),
    [
        (apsw.CorruptError("x"), IndexCorruptError),
        (apsw.NotADBError("x"), IndexCorruptError),
        (apsw.FullError("x"), IndexIOError),
        (apsw.ReadOnlyError("x"), IndexIOError),
        (apsw.CantOpenError("x"), IndexIOError),
        (apsw.PermissionsError("x"), IndexIOError),
        (apsw.BusyError("x"), IndexIOError),
        (apsw.IOError("x"), IndexIOError),
        (PermissionError(13, "Permission denied"), IndexIOError),
        (apsw.InterruptError("x"), DeadlineExceededError),
        (apsw.ConnectionClosedError("x"), IndexClosedError),
        (apsw.SQLError("near a secret"), MemdError),
    ],
)
def test_sqlite_errors_are_mapped_and_name_the_file(foreign: Exception, ours: type[MemdError]) -> None:
    with pytest.raises(ours) as caught, map_errors(Path("/state/agent.sqlite")):
        raise foreign
    assert type(caught.value) is ours
    assert "secret" not in caught.value.message
    if ours is not DeadlineExceededError:
        assert "/state/agent.sqlite" in caught.value.message
