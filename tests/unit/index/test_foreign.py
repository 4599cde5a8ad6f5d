"""Databases of other programs are read in one transaction, and no file is created next to them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from memd.index.foreign import ForeignDatabaseError, opened_foreign


def write(path: Path, journal: str = "wal") -> apsw.Connection:
    """Return an open connection to a new database with one row."""
    db = apsw.Connection(str(path))
    db.pragma("journal_mode", journal)
    db.execute("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
    return db


def rows(path: Path) -> list[tuple[object, ...]]:
    with opened_foreign(path) as db:
        return list(db.execute("SELECT x FROM t ORDER BY x"))


def files_in(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_closed_database_is_read_without_a_new_file(tmp_path: Path, journal: str) -> None:
    write(tmp_path / "a.db", journal).close()
    before = (files_in(tmp_path), (tmp_path / "a.db").read_bytes())
    assert rows(tmp_path / "a.db") == [(1,)]
    assert (files_in(tmp_path), (tmp_path / "a.db").read_bytes()) == before


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_open_database_is_read_as_last_committed(tmp_path: Path, journal: str) -> None:
    writer = write(tmp_path / "a.db", journal)
    before = files_in(tmp_path)
    writer.execute("INSERT INTO t VALUES (2)")
    assert rows(tmp_path / "a.db") == [(1,), (2,)]
    assert files_in(tmp_path) == before
    writer.close()
    assert rows(tmp_path / "a.db") == [(1,), (2,)]
    assert files_in(tmp_path) == ["a.db"]


def test_database_of_a_killed_program_is_read_with_its_log(tmp_path: Path) -> None:
    code = """
import os, sys, apsw
db = apsw.Connection(sys.argv[1])
db.pragma("journal_mode", "wal")
db.execute("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.db")], check=False)
    before = files_in(tmp_path)
    assert before == ["a.db", "a.db-shm", "a.db-wal"]
    assert rows(tmp_path / "a.db") == [(1,)]
    assert files_in(tmp_path) == before


def test_log_without_its_index_is_not_read(tmp_path: Path) -> None:
    write(tmp_path / "a.db").close()
    (tmp_path / "a.db-wal").touch()
    with pytest.raises(ForeignDatabaseError, match="its log has no index"):
        rows(tmp_path / "a.db")
    assert files_in(tmp_path) == ["a.db", "a.db-wal"]


@pytest.mark.parametrize("checkpoint", [False, True])
def test_database_that_is_opened_during_a_read_is_busy(tmp_path: Path, checkpoint: bool) -> None:
    path = tmp_path / "a.db"
    write(path).close()

    def read_and_write() -> None:
        with opened_foreign(path) as db:
            db.execute("SELECT x FROM t").fetchall()
            writer = apsw.Connection(str(path))
            writer.execute("INSERT INTO t VALUES (2)")
            if checkpoint:
                writer.execute("PRAGMA wal_checkpoint")
            writers.append(writer)

    writers: list[apsw.Connection] = []
    with pytest.raises(ForeignDatabaseError) as raised:
        read_and_write()
    assert raised.value.busy
    assert rows(path) == [(1,), (2,)]
    writers.pop().close()
    assert files_in(tmp_path) == ["a.db"]


def test_reader_never_blocks_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    writer = write(path)
    with opened_foreign(path) as db:
        db.execute("SELECT x FROM t").fetchall()
        writer.execute("INSERT INTO t VALUES (2)")
        assert db.execute("SELECT count(*) FROM t").get == 1
    writer.close()


def test_locked_database_is_busy(tmp_path: Path) -> None:
    writer = write(tmp_path / "a.db", "delete")
    writer.execute("BEGIN EXCLUSIVE")
    with pytest.raises(ForeignDatabaseError) as raised:
        rows(tmp_path / "a.db")
    assert raised.value.busy
    writer.close()


def test_missing_table_is_unknown(tmp_path: Path) -> None:
    apsw.Connection(str(tmp_path / "a.db")).close()
    with pytest.raises(ForeignDatabaseError) as raised:
        rows(tmp_path / "a.db")
    assert raised.value.unknown


def test_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ForeignDatabaseError):
        rows(tmp_path / "a.db")
    assert files_in(tmp_path) == []


def test_invalid_text_is_an_error(tmp_path: Path) -> None:
    writer = write(tmp_path / "a.db")
    writer.execute("INSERT INTO t VALUES (CAST(x'ff' AS TEXT))")
    with pytest.raises(ForeignDatabaseError, match="invalid UTF-8"):
        rows(tmp_path / "a.db")
    writer.close()


def test_database_is_never_written(tmp_path: Path) -> None:
    write(tmp_path / "a.db").close()
    with pytest.raises(ForeignDatabaseError), opened_foreign(tmp_path / "a.db") as db:
        db.execute("INSERT INTO t VALUES (2)")
    assert rows(tmp_path / "a.db") == [(1,)]
