"""Rows that are kept from search to search are those of the index at that moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from memd.index.database import READER, Database, connect, reading
from memd.index.files import chunks_by_id, chunks_of_vectors
from memd.index.kept_rows import Keeper, KeptRows
from tests.support.indexes import SPACE, new_index, publish, publish_lines, unit

LINES = ["the cat sleeps", "the dog runs", "the bird sings"]
VECTORS = unit([[1, 0, 0], [0, 1, 0], [0, 0, 1]])


@pytest.fixture
def writer(tmp_path: Path) -> Database:
    """The writer of an index of three notes with vectors."""
    db = new_index(tmp_path / "main.sqlite")
    publish_lines(db, LINES, VECTORS)
    return db


@pytest.fixture
def reader(tmp_path: Path, writer: Database) -> Database:
    """Another connection, which only reads."""
    return connect(tmp_path / "main.sqlite", READER)


def ids_of(db: Database, table: str) -> list[int]:
    """Return all ids of a table, the newest first."""
    return [int(row[0]) for row in db.execute(f"SELECT id FROM {table} ORDER BY id DESC")]


def statements_of(db: Database, kept: KeptRows, ids: list[int], vectors: list[int]) -> list[str]:
    """Return what SQLite is asked while rows are looked up."""
    asked = list[str]()
    db.trace_v2(1, lambda event: asked.append(event["sql"]))  # SQLITE_TRACE_STMT
    kept.of_ids(db, ids)
    kept.of_vectors(db, SPACE.id, vectors)
    db.trace_v2(0, None)
    return [sql for sql in asked if "data_version" not in sql]


def test_they_are_what_the_index_says_in_the_order_they_were_asked_for(reader: Database) -> None:
    kept = Keeper().keep()
    ids, vectors = ids_of(reader, "chunks"), ids_of(reader, "embedding_cache")
    for _ in range(2):
        assert list(kept.of_ids(reader, ids).values()) == chunks_by_id(reader, ids)
        assert kept.of_vectors(reader, SPACE.id, vectors) == chunks_of_vectors(reader, SPACE.id, vectors)
    assert kept.of_ids(reader, [10**6]) == {}
    assert kept.of_vectors(reader, SPACE.id, [10**6]) == []


def test_what_is_kept_is_not_read_again(reader: Database) -> None:
    kept = Keeper().keep()
    ids, vectors = ids_of(reader, "chunks"), ids_of(reader, "embedding_cache")
    assert len(statements_of(reader, kept, ids, vectors)) == 2
    assert statements_of(reader, kept, ids, vectors) == []


def test_they_follow_what_others_commit(writer: Database, reader: Database) -> None:
    # given rows that are kept
    kept = Keeper().keep()
    ids, vectors = ids_of(reader, "chunks"), ids_of(reader, "embedding_cache")
    kept.of_ids(reader, ids)
    kept.of_vectors(reader, SPACE.id, vectors)
    # when a note is renamed, which gives its vector another chunk
    publish(writer, "memory/renamed.md", [LINES[0]])
    publish(writer, "memory/0.md", [])
    # then the next rows are of the index as it is now
    now = ids_of(reader, "chunks")
    assert list(kept.of_ids(reader, ids + now)) == [key for key in dict.fromkeys(ids + now) if key in now]
    found = kept.of_vectors(reader, SPACE.id, vectors)
    assert found == chunks_of_vectors(reader, SPACE.id, vectors)
    assert "memory/renamed.md" in {row.path for _, row in found}


def test_within_a_snapshot_they_are_of_it(writer: Database, reader: Database) -> None:
    kept = Keeper().keep()
    ids = ids_of(reader, "chunks")
    with reading(reader):
        before = kept.of_ids(reader, ids)
        publish(writer, "memory/0.md", [])
        assert kept.of_ids(reader, ids) == before
    assert len(kept.of_ids(reader, ids)) == len(ids) - 1


def test_they_begin_anew_where_they_would_take_too_much(tmp_path: Path, reader: Database) -> None:
    # given rows of two indexes, one more than may be kept together
    ids, vectors = ids_of(reader, "chunks"), ids_of(reader, "embedding_cache")
    keeper = Keeper(most=len(ids))
    kept, other = keeper.keep(), keeper.keep()
    kept.of_ids(reader, ids)
    other.of_ids(reader, ids[:1])
    # when any is asked for
    assert len(statements_of(reader, kept, ids, vectors)) == 2
    # then those of both are read anew
    assert len(other) == 0
    assert len(kept) == len(ids)
