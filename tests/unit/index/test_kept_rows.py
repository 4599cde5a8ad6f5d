"""Rows that are kept from search to search are those of the index at that moment."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memd.index.database import READER, Database, connect, reading
from memd.index.files import ChunkRow, chunks_by_id, chunks_of_vectors
from memd.index.kept_rows import FIRST_ROOM, Keeper, KeptRows
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


def ids_of(db: Database, table: str) -> NDArray[np.int64]:
    """Return all ids of a table, ascending."""
    return np.array(
        [int(row[0]) for row in db.execute(f"SELECT id FROM {table} ORDER BY id")], dtype=np.int64
    )


def found_of(kept: KeptRows, db: Database, ids: NDArray[np.int64]) -> list[ChunkRow]:
    """Return rows that were asked for."""
    return [kept.rows[key] for key in kept.places_of(db, ids).ids.tolist()]


def chunks_of(kept: KeptRows, db: Database, vectors: NDArray[np.int64]) -> list[tuple[int, ChunkRow]]:
    """Return rows that were asked for by vectors, each with its vector."""
    ids = kept.of_vectors(db, SPACE.id, vectors).tolist()
    return [(vector, kept.rows[key]) for vector, key in zip(vectors.tolist(), ids, strict=True) if key]


def statements_of(
    db: Database, kept: KeptRows, ids: NDArray[np.int64], vectors: NDArray[np.int64]
) -> list[str]:
    """Return what SQLite is asked while rows are looked up."""
    asked = list[str]()
    db.trace_v2(1, lambda event: asked.append(event["sql"]))  # SQLITE_TRACE_STMT
    kept.places_of(db, ids)
    kept.of_vectors(db, SPACE.id, vectors)
    db.trace_v2(0, None)
    return [sql for sql in asked if "data_version" not in sql]


def test_they_are_what_the_index_says_in_the_order_they_were_asked_for(reader: Database) -> None:
    kept = Keeper().keep()
    ids, vectors = ids_of(reader, "chunks"), ids_of(reader, "embedding_cache")
    for _ in range(2):
        assert found_of(kept, reader, ids) == chunks_by_id(reader, ids.tolist())
        assert chunks_of(kept, reader, vectors[::-1]) == chunks_of_vectors(
            reader, SPACE.id, vectors[::-1].tolist()
        )
    assert found_of(kept, reader, np.array([10**6])) == []
    assert chunks_of(kept, reader, np.array([10**6])) == []
    assert found_of(kept, reader, np.append(ids, 10**6)) == chunks_by_id(reader, ids.tolist())


def test_columns_tell_what_rows_do(writer: Database, reader: Database) -> None:
    # given more rows than there is room for at first
    publish(writer, "memory/long.md", [f"line {number}" for number in range(FIRST_ROOM + 10)])
    kept, ids = Keeper().keep(), ids_of(reader, "chunks")
    kept.places_of(reader, ids[3:5])
    # when all are asked for
    places = kept.places_of(reader, ids)
    # then each column is of the rows
    told = zip(
        places.ids.tolist(),
        [places.file_numbers.paths[number] for number in places.files.tolist()],
        *(column.tolist() for column in (places.lines, places.starts, places.ends, places.likeness)),
        strict=True,
    )
    assert list(told) == [
        (row.id, row.path, row.start_line, row.start_char, row.end_char, row.likeness)
        for row in chunks_by_id(reader, ids.tolist())
    ]


def test_what_is_kept_is_not_read_again(reader: Database) -> None:
    kept = Keeper().keep()
    ids, vectors = ids_of(reader, "chunks"), ids_of(reader, "embedding_cache")
    assert sum("JOIN chunks" in sql for sql in statements_of(reader, kept, ids, vectors)) == 2
    assert statements_of(reader, kept, ids, vectors) == []


def test_they_follow_what_others_commit(writer: Database, reader: Database) -> None:
    # given rows that are kept
    kept = Keeper().keep()
    ids, vectors = ids_of(reader, "chunks"), ids_of(reader, "embedding_cache")
    found_of(kept, reader, ids)
    chunks_of(kept, reader, vectors)
    # when a note is renamed, which gives its vector another chunk
    publish(writer, "memory/renamed.md", [LINES[0]])
    publish(writer, "memory/0.md", [])
    # then the next rows are of the index as it is now
    now = ids_of(reader, "chunks")
    assert [row.id for row in found_of(kept, reader, np.union1d(ids, now))] == now.tolist()
    found = chunks_of(kept, reader, vectors)
    assert found == chunks_of_vectors(reader, SPACE.id, vectors.tolist())
    assert "memory/renamed.md" in {row.path for _, row in found}


def test_within_a_snapshot_they_are_of_it(writer: Database, reader: Database) -> None:
    kept = Keeper().keep()
    ids = ids_of(reader, "chunks")
    with reading(reader):
        before = found_of(kept, reader, ids)
        publish(writer, "memory/0.md", [])
        assert found_of(kept, reader, ids) == before
    assert len(found_of(kept, reader, ids)) == len(ids) - 1


def test_they_begin_anew_where_they_would_take_too_much(tmp_path: Path, reader: Database) -> None:
    # given rows of two indexes, one more than may be kept together
    ids, vectors = ids_of(reader, "chunks"), ids_of(reader, "embedding_cache")
    keeper = Keeper(most=len(ids))
    kept, other = keeper.keep(), keeper.keep()
    found_of(kept, reader, ids)
    found_of(other, reader, ids[:1])
    # when any is asked for
    assert len(statements_of(reader, kept, ids, vectors)) == 2
    # then those of both are read anew
    assert len(other) == 0
    assert len(kept) == len(ids)
