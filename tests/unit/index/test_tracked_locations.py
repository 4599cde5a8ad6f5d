"""Chunk locations in RAM are those of the index at the search's generation, or none."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memd.index.chunk_locations import (
    MAX_CHANGES,
    MAX_FILES_IN_SEARCH,
    READ_CHUNKS,
    AllLocations,
    TrackedLocations,
)
from memd.index.database import READER, connect, reading, transaction
from memd.index.files import IndexChange, chunks_by_id, chunks_of_vectors, forget_file, generation
from memd.system.sqlite import Database
from tests.support.indexes import SPACE, new_index, publish, publish_lines, store, unit

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
    """A read-only connection."""
    return connect(tmp_path / "main.sqlite", READER)


@pytest.fixture
def followed(reader: Database) -> TrackedLocations:
    """Locations of the initial index."""
    followed = TrackedLocations()
    renew(followed, reader)
    return followed


def renew(followed: TrackedLocations, reader: Database) -> None:
    """Update locations."""
    with reading(reader):
        followed.refresh(reader, SPACE.id)


def at(followed: TrackedLocations, reader: Database) -> AllLocations | None:
    """Return the locations at the latest generation."""
    with reading(reader):
        return followed.at(reader, generation(reader))


def tell(followed: TrackedLocations, published: IndexChange) -> None:
    """Report a commit to the locations."""
    if published.chunks_added or published.chunks_removed:
        followed.follow(published.generation, published.path)


def forget(db: Database, path: str) -> IndexChange:
    """Delete a file from the index."""
    with transaction(db):
        return forget_file(db, path)


def ids_of(db: Database, table: str) -> NDArray[np.int64]:
    """Return all ids of a table, ascending."""
    return np.array(
        [int(row[0]) for row in db.execute(f"SELECT id FROM {table} ORDER BY id")], dtype=np.int64
    )


def assert_as_the_index_says(followed: TrackedLocations, reader: Database) -> None:
    """Assert that each column, and the chunk of each vector, equals SQLite's."""
    with reading(reader):
        locations = followed.at(reader, generation(reader))
        assert locations is not None
        ids, vectors = ids_of(reader, "chunks"), ids_of(reader, "embedding_cache")
        rows = chunks_by_id(reader, ids.tolist())
        told = locations.select(np.union1d(ids, [10**6]))
        columns = (told.lines, told.end_lines, told.starts, told.ends, told.likeness)
        paths = [told.file_numbers.paths[number] for number in told.files.tolist()]
        assert list(zip(told.ids.tolist(), paths, *(column.tolist() for column in columns), strict=True)) == [
            (row.id, row.path, row.start_line, row.end_line, row.start_char, row.end_char, row.likeness)
            for row in rows
        ]
        number_of = dict(zip([row.hash for row in rows], told.texts.tolist(), strict=True))
        assert [number_of[row.hash] for row in rows] == told.texts.tolist()
        assert len(set(number_of.values())) == len(number_of)
        asked = np.append(vectors, 10**6)
        chunks = followed.chunks_of(reader, locations, SPACE.id, asked).tolist()
        found = {vector: row.id for vector, row in chunks_of_vectors(reader, SPACE.id, asked.tolist())}
        assert chunks == [found.get(vector, 0) for vector in asked.tolist()]


def statements_of(followed: TrackedLocations, reader: Database, vectors: NDArray[np.int64]) -> list[str]:
    """Return the SQL statements of looking up vectors in current locations."""
    asked = list[str]()
    with reading(reader):
        now = generation(reader)
        reader.trace_v2(1, lambda event: asked.append(event["sql"]))  # SQLITE_TRACE_STMT
        locations = followed.at(reader, now)
        assert locations is not None
        followed.chunks_of(reader, locations, SPACE.id, vectors)
        reader.trace_v2(0, None)
    return asked


def test_locations_equal_the_index(writer: Database, reader: Database) -> None:
    # given more chunks than are read at once, copies among them
    publish(writer, "memory/long.md", [f"line {number}" for number in range(READ_CHUNKS + 10)])
    publish(writer, "memory/copy.md", LINES)
    # when they are loaded
    followed = TrackedLocations()
    assert at(followed, reader) is None
    renew(followed, reader)
    # then all are in RAM, and lookups need no SQL
    assert_as_the_index_says(followed, reader)
    assert statements_of(followed, reader, ids_of(reader, "embedding_cache")) == []


def test_empty_index_has_no_locations(tmp_path: Path) -> None:
    new_index(tmp_path / "empty.sqlite")
    reader, followed = connect(tmp_path / "empty.sqlite", READER), TrackedLocations()
    renew(followed, reader)
    assert_as_the_index_says(followed, reader)


def test_locations_follow_all_commits(writer: Database, reader: Database, followed: TrackedLocations) -> None:
    # given notes that are added, changed and deleted, have copies of each other, and reuse ids
    rng = random.Random(3)
    texts = [f"text {number}" for number in range(12)]
    for step in range(200):
        path = f"memory/{rng.randrange(6)}.md"
        if rng.random() < 0.2:
            tell(followed, forget(writer, path))
        else:
            tell(followed, publish(writer, path, rng.choices(texts, k=rng.randrange(5))))
        if rng.random() < 0.1:
            some = rng.sample(texts, k=2)
            store(writer, some, unit(np.random.default_rng(step).normal(size=(2, 3))))
        # when they are requested after one or several commits
        if rng.random() < 0.5:
            # then they equal newly read ones
            assert_as_the_index_says(followed, reader)


def test_locations_are_those_of_the_snapshot(
    writer: Database, reader: Database, followed: TrackedLocations
) -> None:
    # given a running search
    with reading(reader):
        before = generation(reader)
        # when a commit and another search follow
        tell(followed, publish(writer, "memory/0.md", ["another"]))
        other = connect(reader.filename, READER)
        assert_as_the_index_says(followed, other)
        # then the first gets no locations of a later generation
        assert followed.at(reader, before) is None
    assert_as_the_index_says(followed, reader)


def test_snapshot_of_an_unreported_commit_has_no_locations(
    writer: Database, reader: Database, followed: TrackedLocations
) -> None:
    published = publish(writer, "memory/0.md", ["another"])
    assert at(followed, reader) is None
    tell(followed, published)
    assert_as_the_index_says(followed, reader)


def test_change_during_reading_is_kept(writer: Database, reader: Database) -> None:
    # given locations that are being read, and a commit meanwhile
    followed = TrackedLocations()

    def commit_once(event: dict[str, str]) -> None:
        reader.trace_v2(0, None)
        tell(followed, publish(writer, "memory/0.md", ["another"]))

    with reading(reader):
        generation(reader)  # the snapshot begins
        reader.trace_v2(1, commit_once)
        followed.refresh(reader, SPACE.id)
    # then they include it
    assert_as_the_index_says(followed, reader)


def test_locations_dropped_during_reading_stay_dropped(writer: Database, reader: Database) -> None:
    followed = TrackedLocations()
    with reading(reader):
        reader.trace_v2(1, lambda _: followed.drop())
        followed.refresh(reader, SPACE.id)
        reader.trace_v2(0, None)
    assert at(followed, reader) is None
    assert followed.is_wanted


def test_many_changes_are_left_to_refresh(
    writer: Database, reader: Database, followed: TrackedLocations
) -> None:
    # given more changed files than a search reads
    for number in range(MAX_FILES_IN_SEARCH + 1):
        tell(followed, publish(writer, f"memory/new {number}.md", ["new"]))
    assert at(followed, reader) is None
    assert followed.is_wanted
    # when they are refreshed
    renew(followed, reader)
    # then they are in RAM
    assert_as_the_index_says(followed, reader)


def test_missed_commit_makes_all_locations_be_read_again(
    writer: Database, reader: Database, followed: TrackedLocations
) -> None:
    publish(writer, "memory/0.md", ["untold"])
    tell(followed, publish(writer, "memory/1.md", ["told"]))
    assert at(followed, reader) is None
    assert followed.is_wanted
    renew(followed, reader)
    assert_as_the_index_says(followed, reader)


def test_unread_changes_are_bounded(followed: TrackedLocations, reader: Database) -> None:
    now = generation(reader)
    for number in range(MAX_CHANGES + 1):
        assert at(followed, reader) is not None
        followed.follow(now + 1 + number, "memory/0.md")
    assert at(followed, reader) is None
    assert repr(followed) == "<TrackedLocations None, 0 changes>"


def test_concurrent_search_does_not_wait_for_another_that_reads(
    writer: Database, reader: Database, followed: TrackedLocations
) -> None:
    # given a search that reads a changed file
    tell(followed, publish(writer, "memory/0.md", ["another"]))
    other, came = connect(reader.filename, READER), list[AllLocations | None]()
    with reading(reader):
        now = generation(reader)
        reader.trace_v2(1, lambda _: came.append(at(followed, other)))
        # when a second one requests them meanwhile
        assert followed.at(reader, now) is not None
        reader.trace_v2(0, None)
    # then it doesn't wait
    assert came == [None]


def test_vectors_of_another_space_have_their_own_texts(
    writer: Database, reader: Database, followed: TrackedLocations
) -> None:
    # given vectors of the same texts in two spaces
    other = type(SPACE)("local", "other", "space-b")
    ids = store(writer, LINES, VECTORS, other)
    with reading(reader):
        locations = followed.at(reader, generation(reader))
        assert locations is not None
        # when those of the second space are looked up, in it and in the first
        vectors = np.array(ids, dtype=np.int64)
        found = followed.chunks_of(reader, locations, other.id, vectors).tolist()
        none = followed.chunks_of(reader, locations, SPACE.id, vectors).tolist()
    # then only the second has them
    assert found == [row.id for _, row in chunks_of_vectors(reader, other.id, ids)]
    assert none == [0, 0, 0]
