"""Why a hit stands where it stands: complete, and in words."""

from __future__ import annotations

from typing import Any

import pytest

from memd.index.database import Database
from memd.index.vectors.scan import ScanSearch
from memd.settings.schema import Hybrid, QuerySettings, TemporalDecay
from tests.support.indexes import asked, new_index, publish, search, store, unit

DECAYED = QuerySettings(hybrid=Hybrid(temporal_decay=TemporalDecay(enabled=True, half_life_days=30)))
ENTRY = "the bakery freezer alarm went off at four in the morning and nobody was there to hear it at all"


@pytest.fixture
def db() -> Database:
    """An index of some entries, four of them with vectors."""
    db = new_index()
    texts = {
        "memory/2026-11-19.md": "POL-358 is about the freezer",
        "memory/2026-09-01.md": "the freezer was bought",
        "memory/a.md": ENTRY,
        "memory/b.md": ENTRY.replace("four", "five"),
    }
    for path, text in texts.items():
        publish(db, path, [text])
    publish(db, "memory/others.md", [f"entry {number} about something else" for number in range(20)])
    store(db, list(texts.values()), unit([[1, 1], [4, 1], [1, 3], [1, 3]]))
    return db


def explain(
    db: Database, query: str, settings: QuerySettings | None = None, *, near: bool = True
) -> dict[str, dict[str, Any]]:
    """Return the explanation of each hit by its path."""
    wanted = asked(query, settings, vector=[1, 0] if near else None, explain=True, min_score=0.0)
    found = search(db, wanted, ScanSearch() if near else None)
    assert all(hit.explain is not None for hit in found.hits)
    return {hit.path: hit.explain or {} for hit in found.hits}


def test_nothing_is_explained_that_nobody_asked_about(db: Database) -> None:
    assert all(hit.explain is None for hit in search(db, asked("freezer")).hits)


def test_an_explanation_is_complete(db: Database) -> None:
    why = explain(db, "what about POL-358 and the freezr yesterday", DECAYED)["memory/2026-11-19.md"]

    assert set(why) == {"because", "words", "exact", "cosine", "bm25", "steps", "chunk_lines"}
    assert why["exact"] == ["POL-358"]
    assert why["cosine"] == pytest.approx(0.5**0.5, abs=1e-5)
    assert why["bm25"] > 0
    assert list(why["steps"]) == ["fused", "neighbours", "days", "decay", "exact"]
    assert why["chunk_lines"] == [1, 1]
    words = {each["word"]: each for each in why["words"]}
    assert words["POL-358"]["held"]
    assert words["freezr"] == {
        "word": "freezr",
        "held": True,
        "chunks": 0,
        "weight": words["freezr"]["weight"],
        "taken_for": ["freezer"],
    }


def test_the_last_step_is_the_score_that_is_shown(db: Database) -> None:
    wanted = asked("POL-358 freezer yesterday", DECAYED, vector=[1, 0], explain=True, min_score=0.0)
    for hit in search(db, wanted, ScanSearch()).hits:
        assert hit.explain is not None
        assert list(hit.explain["steps"].values())[-1] == pytest.approx(hit.score, abs=1e-6)


def test_it_says_in_words_what_a_person_wants_to_know(db: Database) -> None:
    why = explain(db, "what about POL-358 and the freezr and the zebra yesterday", DECAYED)[
        "memory/2026-11-19.md"
    ]
    said = why["because"]
    assert said[0].startswith("it holds POL-358, ")
    assert said[0].endswith(", freezer (for freezr); not zebra")
    assert said[1].startswith("number 1 by words (BM25 ")
    assert ", number 2 by meaning (cosine 0.71)" in said[1]
    assert said[2].startswith("together 0.")
    assert any(each.endswith(": notes of the days in the question come first") for each in said)
    assert any(each.endswith(": the very names in the question come first") for each in said)
    assert "it holds POL-358 itself" in said
    assert "it is of a day in the question" in said


def test_steps_are_told_where_they_changed_the_score_and_not_else(db: Database) -> None:
    old = explain(db, "freezer", DECAYED)["memory/2026-09-01.md"]
    assert sum("count less with age" in each for each in old["because"]) == 1
    assert not any(
        "count less with age" in each for each in explain(db, "freezer", DECAYED)["memory/a.md"]["because"]
    )
    assert not any("days" in each or "names" in each for each in old["because"])


def test_what_only_one_side_found_is_told_so(db: Database) -> None:
    by_meaning = explain(db, "zebra")["memory/2026-09-01.md"]
    by_words = explain(db, "freezer", near=False)["memory/2026-09-01.md"]
    assert by_meaning["because"][:2] == ["it holds none of the words", "number 1 by meaning (cosine 0.97)"]
    assert by_meaning["bm25"] is None
    assert by_words["cosine"] is None
    assert by_words["because"][0] == "it holds freezer"
    assert "meaning" not in by_words["because"][1]


def test_repetitions_are_told(db: Database) -> None:
    told = [each["because"][-1] for each in explain(db, "freezer alarm").values()]
    assert told.count("another place says the same") == 1
    publish(db, "memory/c.md", [ENTRY])
    told = [each["because"][-1] for each in explain(db, "freezer alarm").values()]
    assert told.count("2 other places say the same") == 1


def test_parts_of_a_name_it_holds_are_not_told_again(db: Database) -> None:
    why = explain(db, "POL-358 and 358 and the freezer", near=False)["memory/2026-11-19.md"]
    assert why["because"][0] == "it holds POL-358, freezer"


def test_lines_are_those_of_the_chunk_and_not_of_what_is_shown(db: Database) -> None:
    publish(db, "memory/c.md", ["one", "two", "the gyroscope", "four"])
    assert explain(db, "gyroscope")["memory/c.md"]["chunk_lines"] == [3, 3]
