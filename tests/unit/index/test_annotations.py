"""Annotated entries in the index: stored with their note, deleted with it."""

from __future__ import annotations

import pytest

from memd.index.annotations import (
    FileAnnotations,
    has_current_annotations,
    load_annotations,
    note_current_annotations,
    store_annotations,
)
from memd.index.database import transaction
from memd.index.files import forget_file
from memd.system.sqlite import Database
from memd.text.cut.annotations import AnnotatedEntry, Annotations
from tests.support.indexes import new_index, publish

ENTRIES = [
    AnnotatedEntry(2, 4, Annotations(7, ("tea", "five o'clock"), ("github.com/a/b",))),
    AnnotatedEntry(9, 9, Annotations(is_invalid=True)),
]


@pytest.fixture
def db() -> Database:
    """An empty index."""
    return new_index(extension=False)


def test_stored_entries_are_loaded_unchanged(db: Database) -> None:
    with transaction(db):
        store_annotations(db, "MEMORY.md", ENTRIES)
        store_annotations(db, "memory/;odd:é.md", ENTRIES[:1])

    loaded = load_annotations(db)

    assert set(loaded) == {"MEMORY.md", "memory/;odd:é.md"}
    assert [loaded["MEMORY.md"].at(line) for line in (2, 4, 9)] == [ENTRIES[0], ENTRIES[0], ENTRIES[1]]


def test_line_outside_of_annotated_entries_has_no_entry() -> None:
    file = FileAnnotations(ENTRIES)

    assert [file.at(line) for line in (1, 5, 8, 10)] == [None] * 4


def test_note_without_annotations_or_deleted_note_has_no_row(db: Database) -> None:
    publish(db, "MEMORY.md", ["tea"])
    with transaction(db):
        store_annotations(db, "MEMORY.md", ENTRIES)
        store_annotations(db, "USER.md", ENTRIES)
        store_annotations(db, "USER.md", [])
        assert set(load_annotations(db)) == {"MEMORY.md"}
        forget_file(db, "MEMORY.md")

    assert load_annotations(db) == {}
    assert db.execute("SELECT key FROM meta WHERE key LIKE 'annotations%'").fetchall() == []


def test_index_with_outdated_annotations_is_detected(db: Database) -> None:
    assert not has_current_annotations(db)
    with transaction(db):
        note_current_annotations(db)
    assert has_current_annotations(db)
    assert load_annotations(db) == {}
