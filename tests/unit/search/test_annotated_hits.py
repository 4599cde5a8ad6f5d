"""Annotated entries in a search: their order and snippets."""

from __future__ import annotations

import pytest

from memd.index.annotations import store_annotations
from memd.index.database import transaction
from memd.system.sqlite import Database
from memd.text.cut.annotations import find_annotated, hide_annotations
from memd.text.cut.chunking import cut_chunks
from memd_client.messages import Hit
from tests.support.indexes import new_index, publish_note, search, search_spec

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
    """Publish a note as the sync does."""
    entries = find_annotated(text, path)
    breaks = {line for entry in entries for line in (entry.start_line, entry.end_line + 1)}
    publish_note(db, path, hide_annotations(text), cut=lambda note, name: cut_chunks(note, name, breaks))
    with transaction(db):
        store_annotations(db, path, entries)


def hits(db: Database, *active: str, query: str = "walnut", explain: bool = False) -> list[Hit]:
    """Return the hits of a keyword search."""
    wanted = search_spec(query, max_results=20, min_score=0.0, explain=explain, active_projects=active)
    return search(db, wanted).hits


def names(found: list[Hit]) -> list[str]:
    """Return the items in the hits, in order."""
    return [next(name for name in ITEMS if name in hit.snippet) for hit in found]


def test_importance_orders_entries_with_equal_matches(db: Database) -> None:
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


def test_entries_of_active_projects_rank_first_and_of_other_projects_last(db: Database) -> None:
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


def test_an_entry_with_an_unreadable_project_appears_in_no_snippet(db: Database) -> None:
    write(db, "memory/a.md", f"{ITEMS['shelf']}\n{ITEMS['table']} <!-- project: -->\n{ITEMS['stool']}\n")

    found = hits(db)

    assert sorted(names(found)) == ["shelf", "stool"]
    assert all("table" not in hit.snippet for hit in found)
    assert hits(db, query="table glue") == []


def test_an_entry_with_an_unreadable_project_replaces_no_copy(db: Database) -> None:
    """The newest of several copies is shown, unless it is invalid."""
    write(db, "memory/2026-01-01.md", f"{ITEMS['shelf']}\n")
    write(db, "memory/2026-01-02.md", f"{ITEMS['shelf']} <!-- project: a -->\n")
    write(db, "memory/2026-01-03.md", f"{ITEMS['shelf']} <!-- project: -->\n")

    assert [hit.path for hit in hits(db)] == ["memory/2026-01-02.md"]


def test_an_annotated_entry_shares_no_snippet(db: Database) -> None:
    write(
        db,
        "memory/a.md",
        "- before the shelf\n- walnut shelf\n  on two lines <!-- project: a -->\n- after the shelf\n- still after it\n",
    )

    assert [hit.snippet for hit in hits(db)] == ["- walnut shelf\n  on two lines"]
    assert [hit.snippet for hit in hits(db, query="still")] == ["- after the shelf\n- still after it"]
    assert hits(db, query="still")[0].annotations is None


def test_words_of_annotations_match_no_query(db: Database) -> None:
    write(db, "MEMORY.md", "- tea <!-- trigger: marmalade --> <!-- project: github.com/acme/anvil -->\n")

    for word in ("marmalade", "trigger", "anvil", "project"):
        assert hits(db, query=word) == []
    assert len(hits(db, query="tea")) == 1


@pytest.mark.parametrize("annotated", [False, True])
def test_annotations_do_not_change_scores_of_other_notes(db: Database, annotated: bool) -> None:
    """Annotations of a note change nothing if none of its entries matches."""
    text = "\n".join(ITEMS.values())
    write(db, "memory/a.md", text)
    before = hits(db)
    write(db, "MEMORY.md", f"- unlike <!-- importance: {10 if annotated else 5} --> <!-- trigger: x -->\n")

    after = hits(db, "a", "b")

    assert [(hit.path, hit.snippet, hit.score) for hit in after] == [
        (hit.path, hit.snippet, hit.score) for hit in before
    ]


def test_an_explanation_reports_the_effect_of_importance(db: Database) -> None:
    write(db, "MEMORY.md", f"{ITEMS['shelf']} <!-- importance: 1 -->\n{ITEMS['table']}\n")

    table, shelf = (hit.explain for hit in hits(db, explain=True))

    assert shelf is not None
    assert table is not None
    assert "annotations" in shelf["steps"]
    assert "1.000 to 0.800: the importance or project of its entry" in shelf["reasons"]
    assert not any("importance" in reason for reason in table["reasons"])
