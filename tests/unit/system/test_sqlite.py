"""Databases of other programs are read in one transaction, and no file is created next to them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
import trio

from memd.programs import values
from memd.programs.values import MAX_NAME_BYTES, json_column, text_column
from memd.system import sqlite as foreign
from memd.system.sqlite import MAX_FOREIGN_BYTES, ForeignDatabaseError, columns_of, opened_foreign


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


ENDLESS = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"


def test_view_is_never_read(tmp_path: Path) -> None:
    writer = write(tmp_path / "a.db")
    writer.execute(f"CREATE VIEW v AS {ENDLESS}; CREATE VIRTUAL TABLE f USING fts5 (x)")
    writer.close()
    with opened_foreign(tmp_path / "a.db") as db:
        assert columns_of(db, "t") == {"x": ""}
        assert columns_of(db, "v") == columns_of(db, "f") == columns_of(db, "f_content") == {}
    with pytest.raises(ForeignDatabaseError) as raised, opened_foreign(tmp_path / "a.db") as db:
        db.execute("SELECT x FROM v LIMIT 1").fetchall()
    assert raised.value.unknown


def test_endless_read_ends_at_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a.db").close()
    monkeypatch.setattr(foreign, "READ_LIMIT_S", 0.05)
    with (
        pytest.raises(ForeignDatabaseError, match="takes longer than") as raised,
        opened_foreign(tmp_path / "a.db") as db,
    ):
        db.execute(f"SELECT max(x) FROM ({ENDLESS})").fetchall()
    assert raised.value.unknown


async def test_endless_read_ends_with_the_task_that_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "a.db").close()
    monkeypatch.setattr(foreign, "READ_LIMIT_S", 1e6)
    begun = trio.Event()

    def read() -> None:
        with opened_foreign(tmp_path / "a.db") as db:
            trio.from_thread.run_sync(begun.set)
            db.execute(f"SELECT max(x) FROM ({ENDLESS})").fetchall()

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.to_thread.run_sync, read)
            await begun.wait()
            nursery.cancel_scope.cancel()


def test_row_with_a_long_value_does_not_hide_the_other_rows(tmp_path: Path) -> None:
    writer = write(tmp_path / "a.db")
    writer.execute("CREATE TABLE s (id TEXT, title TEXT, data TEXT)")
    writer.execute(
        f"INSERT INTO s VALUES ('a', zeroblob({MAX_NAME_BYTES + 1}), zeroblob({MAX_FOREIGN_BYTES + 1}))"
    )
    writer.execute("INSERT INTO s VALUES ('b', 'title', '{}')")
    writer.close()
    statement = f"SELECT id, {text_column('title')}, {json_column('data')} FROM s ORDER BY id"
    with opened_foreign(tmp_path / "a.db") as db:
        assert list(db.execute(statement)) == [("a", None, None), ("b", b"title", b"{}")]


def test_more_rows_than_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MAX_ROWS", 3)
    assert list(values.limited("abc")) == ["a", "b", "c"]
    with pytest.raises(ForeignDatabaseError, match="more than 3 rows"):
        list(values.limited("abcd"))
