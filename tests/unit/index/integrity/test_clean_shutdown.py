"""An index is opened without a full check after a clean shutdown, and checked if it was changed since."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from memd.index.integrity import opening
from memd.index.integrity.upkeep import CHECKED_FOR_MS, was_closed_cleanly, written_at
from memd.index.meta import bump_generation
from memd.system.sqlite import Database
from tests.support.indexes import new_index, publish
from tests.support.open_indexes import open_and_close

NOW_MS = 1_767_225_600_000
"""2026-01-01T00:00:00Z."""

DAY_MS = 86_400_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An index that was opened and closed once."""
    path = tmp_path / "agent.sqlite"
    db = new_index(path)
    publish(db, "memory/a.md", [f"line {number} " + "word " * 100 for number in range(200)])
    db.close()
    open_and_close(path, NOW_MS)
    return path


def is_trusted(path: Path, now_ms: int = NOW_MS) -> bool:
    """Return whether the next opening skips the full check."""
    written_ns = written_at(path)
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return was_closed_cleanly(db, written_ns, now_ms)
    finally:
        db.close()


@contextmanager
def forbid_refill(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail if an opening reads all vectors."""

    def refuse(_: object) -> None:
        raise AssertionError("all vectors were gone through")

    with monkeypatch.context() as patch:
        patch.setattr(opening, "_refill", refuse)
        yield


@pytest.mark.parametrize("write", [None, bump_generation])
def test_index_is_not_checked_after_a_clean_shutdown(
    path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Database], object] | None
) -> None:
    assert is_trusted(path)
    with forbid_refill(monkeypatch):
        assert open_and_close(path, NOW_MS + DAY_MS, write=write)[1] == 200
    assert is_trusted(path, NOW_MS + DAY_MS)


def test_unchanged_index_is_closed_without_a_write(path: Path) -> None:
    before = path.stat().st_mtime_ns
    open_and_close(path, NOW_MS + DAY_MS)
    assert path.stat().st_mtime_ns == before


def test_changed_byte_is_found_after_a_clean_shutdown(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-8192:-4096] = bytes(4096)
    path.write_bytes(bytes(data))

    assert not is_trusted(path)
    open_and_close(path, NOW_MS)
    assert [entry.name for entry in path.parent.iterdir() if ".corrupt-" in entry.name]


def test_replaced_file_is_checked(path: Path) -> None:
    shutil.copy(path, path.with_name("copy"))
    os.replace(path.with_name("copy"), path)
    assert not is_trusted(path)


def test_index_with_a_log_of_a_crash_is_checked(path: Path) -> None:
    db = apsw.Connection(str(path))
    db.pragma("journal_mode", "wal")
    db.pragma("wal_autocheckpoint", 0)
    bump_generation(db)
    crashed = path.with_name("crashed.sqlite")
    shutil.copy2(path, crashed)
    shutil.copy2(path.with_name(path.name + "-wal"), crashed.with_name(crashed.name + "-wal"))
    db.close()

    assert written_at(crashed) is None


def test_index_is_checked_once_a_week(path: Path) -> None:
    assert is_trusted(path, NOW_MS + CHECKED_FOR_MS - 1)
    assert not is_trusted(path, NOW_MS + CHECKED_FOR_MS)
    assert not is_trusted(path, NOW_MS - 1)  # the clock was set back


def test_missing_file_has_no_write_time(path: Path) -> None:
    assert written_at(path.with_name("nowhere.sqlite")) is None
