"""Annotated entries in a search: their order, what is shown of them, and nothing else changed."""

from __future__ import annotations

import pytest

from memd.index.annotations import store_annotations
from memd.index.database import Database, transaction
from memd.text.cut.annotations import find_annotated, hide_annotations
from memd.text.cut.chunking import cut_chunks
from memd_client.messages import Hit
from tests.support.indexes import asked, new_index, publish_note, search

ITEMS = {
    "shelf": "- walnut shelf needs oil",
    "table": "- walnut table wants glue",
    "stool": "- walnut stool lost leg",
}


@pytest.fixture
def db() -> Database:
    """An empty index."""
    return new_index(extension=False)


def write(db: Database, path: str, text: str) -> None:
    """Publish a note as a sync does."""
    entries = find_annotated(text, path)
    breaks = {line for entry in entries for line in (entry.start_line, entry.end_line + 1)}
    publish_note(db, path, hide_annotations(text), cut=lambda note, name: cut_chunks(note, name, breaks))
    with transaction(db):
        store_annotations(db, path, entries)


def hits(db: Database, *active: str, query: str = "walnut", explain: bool = False) -> list[Hit]:
    """Return the hits of a keyword search."""
    wanted = asked(query, max_results=20, min_score=0.0, explain=explain, active_projects=active)
    return search(db, wanted).hits


def names(found: list[Hit]) -> list[str]:
    """Return which items hits show, in their order."""
    return [next(name for name in ITEMS if name in hit.snippet) for hit in found]


def test_importance_orders_entries_that_match_alike(db: Database) -> None:
    write(
        db,
        "MEMORY.md",
        f"{ITEMS['shelf']} <!-- importance: 1 -->\n{ITEMS['table']} <!-- importance: 6 -->\n"
        f"{ITEMS['stool']} <!-- importance: 9 -->\n",
    )

    found = hits(db)

    assert names(found) == ["stool", "table", "shelf"]
    assert [round(hit.score, 3) for hit in found] == [1.0, 0.875, 0.667]
    assert [(hit.start_line, hit.end_line, hit.snippet) for hit in found[:1]] == [(3, 3, ITEMS["stool"])]
    assert found[0].annotations == {"importance": 9, "triggers": [], "projects": []}


def test_entries_about_active_projects_come_first_and_those_about_others_last(db: Database) -> None:
    write(
        db,
        "MEMORY.md",
        f"{ITEMS['shelf']} <!-- project: a -->\n{ITEMS['table']} <!-- importance: 6 -->\n"
        f"{ITEMS['stool']} <!-- project: b -->\n",
    )

    assert names(hits(db, "a")) == ["shelf", "table", "stool"]
    assert names(hits(db, "b")) == ["stool", "table", "shelf"]
    assert names(hits(db, "a", "b"))[2] == "table"
    assert names(hits(db))[0] == "table"


def test_an_entry_whose_project_cannot_be_read_is_neither_a_hit_nor_shown_around_one(db: Database) -> None:
    write(db, "memory/a.md", f"{ITEMS['shelf']}\n{ITEMS['table']} <!-- project: -->\n{ITEMS['stool']}\n")

    found = hits(db)

    assert sorted(names(found)) == ["shelf", "stool"]
    assert all("table" not in hit.snippet for hit in found)
    assert hits(db, query="table glue") == []


def test_an_entry_with_an_unreadable_project_is_not_shown_in_place_of_a_copy(db: Database) -> None:
    """Of copies the newest note is shown, unless it must not be."""
    write(db, "memory/2026-01-01.md", f"{ITEMS['shelf']}\n")
    write(db, "memory/2026-01-02.md", f"{ITEMS['shelf']} <!-- project: a -->\n")
    write(db, "memory/2026-01-03.md", f"{ITEMS['shelf']} <!-- project: -->\n")

    assert [hit.path for hit in hits(db)] == ["memory/2026-01-02.md"]


def test_an_annotated_entry_is_shown_alone_and_others_are_not_shown_with_it(db: Database) -> None:
    write(
        db,
        "memory/a.md",
        "- before the shelf\n- walnut shelf\n  on two lines <!-- project: a -->\n- after the shelf\n- still after it\n",
    )

    assert [hit.snippet for hit in hits(db)] == ["- walnut shelf\n  on two lines"]
    assert [hit.snippet for hit in hits(db, query="still")] == ["- after the shelf\n- still after it"]
    assert hits(db, query="still")[0].annotations is None


def test_comments_are_found_by_no_word_of_theirs(db: Database) -> None:
    write(db, "MEMORY.md", "- tea <!-- trigger: marmalade --> <!-- project: github.com/acme/anvil -->\n")

    for word in ("marmalade", "trigger", "anvil", "project"):
        assert hits(db, query=word) == []
    assert len(hits(db, query="tea")) == 1


@pytest.mark.parametrize("annotated", [False, True])
def test_scores_of_notes_without_annotations_are_what_they_were(db: Database, annotated: bool) -> None:
    """Another note's annotations change nothing if none of its entries is found."""
    text = "\n".join(ITEMS.values())
    write(db, "memory/a.md", text)
    before = hits(db)
    write(db, "MEMORY.md", f"- unlike <!-- importance: {10 if annotated else 5} --> <!-- trigger: x -->\n")

    after = hits(db, "a", "b")

    assert [(hit.path, hit.snippet, hit.score) for hit in after] == [
        (hit.path, hit.snippet, hit.score) for hit in before
    ]


def test_an_explanation_says_what_importance_did(db: Database) -> None:
    write(db, "MEMORY.md", f"{ITEMS['shelf']} <!-- importance: 1 -->\n{ITEMS['table']}\n")

    table, shelf = (hit.explain for hit in hits(db, explain=True))

    assert shelf is not None
    assert table is not None
    assert "annotations" in shelf["steps"]
    assert "1.000 to 0.800: the importance or project of its entry" in shelf["because"]
    assert not any("importance" in reason for reason in table["because"])
