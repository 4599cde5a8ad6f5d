"""Locations that searches have read are kept for one generation of the index, and equal what the index has."""

from __future__ import annotations

from collections.abc import Sequence

import apsw
import numpy as np
import pytest

from memd.index import known_locations
from memd.index.files import chunks_by_id, chunks_of_vectors, generation
from memd.index.known_locations import KnownLocations, LocationCache
from memd.system.sqlite import Database
from tests.support.indexes import DIMS, SPACE, new_index, publish, store, unit

TEXTS = [f"text {number}" for number in range(30)]


@pytest.fixture
def db() -> Database:
    """Two files, with one text in both."""
    db = new_index(extension=False)
    publish(db, "memory/a.md", TEXTS)
    publish(db, "sessions/b.jsonl", ["other", TEXTS[3]], source="sessions")
    return db


def facts_of(known: KnownLocations, db: Database, ids: Sequence[int]) -> list[tuple[int, str, int, int]]:
    """Return id, path, first and last line of chunks as they are known."""
    found = known.locate(db, ids)
    columns = (found.ids, found.files, found.lines, found.end_lines)
    return [
        (key, found.path(file), first, last)
        for key, file, first, last in zip(*(column.tolist() for column in columns), strict=True)
    ]


def stored_facts(db: Database, ids: Sequence[int]) -> list[tuple[int, str, int, int]]:
    """Return the same from the index."""
    return [(row.id, row.path, row.start_line, row.end_line) for row in chunks_by_id(db, ids)]


def test_locations_equal_the_index_however_they_were_asked_for(db: Database) -> None:
    known = KnownLocations(1)
    for ids in ([1, 2, 3], [2, 5, 31], [], [1, 2, 3, 4, 5, 31, 32], list(range(1, 33))):
        assert facts_of(known, db, ids) == stored_facts(db, ids)


def test_chunks_that_are_not_in_the_index_are_left_out(db: Database) -> None:
    known = KnownLocations(1)
    for _ in range(2):
        assert [key for key, *_ in facts_of(known, db, [2, 99, 400])] == [2]


def test_known_chunks_are_not_read_again(db: Database) -> None:
    known = KnownLocations(1)
    known.locate(db, list(range(1, 20)))
    statements: list[str] = []
    db.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: statements.append(event["sql"]))
    known.locate(db, [3, 4, 19])
    assert statements == []


def test_chunks_are_selected_by_their_sources(db: Database) -> None:
    found = KnownLocations(1).locate(db, list(range(1, 33)))
    assert found.from_sources(["sessions", "unknown"]) == [31, 32]
    assert found.from_sources([]) == []


def test_cache_that_is_full_starts_again(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_locations, "MAX_KNOWN", 10)
    known = KnownLocations(1)
    for start in range(1, 25, 5):
        ids = list(range(start, start + 8))
        assert facts_of(known, db, ids) == stored_facts(db, ids)


def test_another_generation_knows_nothing_of_the_one_before(db: Database) -> None:
    cache = LocationCache()
    assert facts_of(cache.at(1), db, [1, 2])[1] == (2, "memory/a.md", 2, 2)
    publish(db, "memory/a.md", ["new first line", *TEXTS])
    assert cache.at(2) is cache.at(2)
    assert facts_of(cache.at(2), db, [1, 2]) == stored_facts(db, [1, 2])
    assert facts_of(cache.at(2), db, [2])[0][2] == 3


def test_vectors_have_the_chunks_that_the_index_gives_them(db: Database) -> None:
    rows = unit(np.random.default_rng(1).standard_normal((3, DIMS)))
    store(db, ["other", TEXTS[3], "no chunk has this"], rows)
    known = KnownLocations(1)
    expected = chunks_of_vectors(db, SPACE.id, [3, 1, 2])
    for _ in range(2):
        assert known.chunks_of_vectors(db, SPACE.id, [3, 1, 2]) == expected == [(1, 31), (2, 4)]


def test_file_that_changes_its_source_alone_is_a_new_generation(db: Database) -> None:
    before = generation(db)
    publish(db, "memory/a.md", TEXTS, source="vault")
    assert generation(db) == before + 1
