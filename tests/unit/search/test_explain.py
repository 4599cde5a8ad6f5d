"""Explanations of a hit's rank."""

from __future__ import annotations

from typing import Any

import pytest

from memd.index.vectors.scan import ScanSearch
from memd.settings.schema import Hybrid, QuerySettings, TemporalDecay
from memd.system.sqlite import Database
from tests.support.indexes import new_index, publish, search, search_spec, store, unit

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
    wanted = search_spec(query, settings, vector=[1, 0] if near else None, explain=True, min_score=0.0)
    found = search(db, wanted, ScanSearch() if near else None)
    assert all(hit.explain is not None for hit in found.hits)
    return {hit.path: hit.explain or {} for hit in found.hits}


def test_hits_are_not_explained_unless_requested(db: Database) -> None:
    assert all(hit.explain is None for hit in search(db, search_spec("freezer")).hits)


def test_an_explanation_is_complete(db: Database) -> None:
    why = explain(db, "what about POL-358 and the freezr yesterday", DECAYED)["memory/2026-11-19.md"]

    names = {
        "reasons",
        "words",
        "exact",
        "cosine",
        "bm25",
        "steps",
        "chunk_lines",
        "lines",
        "origins",
        "has_outside",
    }
    assert set(why) == names | {"probability", "judge", "features"}
    assert why["exact"] == ["POL-358"]
    assert why["cosine"] == pytest.approx(0.5**0.5, abs=1e-5)
    assert why["bm25"] > 0
    assert list(why["steps"]) == ["fused", "neighbours", "lines", "days", "decay", "exact"]
    assert why["chunk_lines"] == [1, 1]
    words = {each["word"]: each for each in why["words"]}
    assert words["POL-358"]["matched"]
    assert words["freezr"] == {
        "word": "freezr",
        "matched": True,
        "chunks": 0,
        "weight": words["freezr"]["weight"],
        "corrections": ["freezer"],
    }


def test_the_last_stage_score_is_the_hits_score(db: Database) -> None:
    wanted = search_spec("POL-358 freezer yesterday", DECAYED, vector=[1, 0], explain=True, min_score=0.0)
    for hit in search(db, wanted, ScanSearch()).hits:
        assert hit.explain is not None
        assert list(hit.explain["steps"].values())[-1] == pytest.approx(hit.score, abs=1e-6)


def test_reasons_describe_terms_ranks_stages_and_exact_matches(db: Database) -> None:
    why = explain(db, "what about POL-358 and the freezr and the zebra yesterday", DECAYED)[
        "memory/2026-11-19.md"
    ]
    said = why["reasons"]
    assert said[0].startswith("contains POL-358, ")
    assert said[0].endswith(", freezer (for freezr); not zebra")
    assert said[1].startswith("keyword rank 1 (BM25 ")
    assert ", vector rank 2 (cosine 0.71)" in said[1]
    assert said[2].startswith("fused score 0.")
    assert any(each.endswith(": notes of the days named in the query come first") for each in said)
    assert any(each.endswith(": exact matches come first") for each in said)
    assert "exact match for POL-358" in said
    assert "from a day named in the query" in said


def test_only_stages_that_changed_the_score_are_explained(db: Database) -> None:
    old = explain(db, "freezer", DECAYED)["memory/2026-09-01.md"]
    assert sum("count less with age" in each for each in old["reasons"]) == 1
    assert not any(
        "count less with age" in each for each in explain(db, "freezer", DECAYED)["memory/a.md"]["reasons"]
    )
    assert not any("days" in each or "exact" in each for each in old["reasons"])


def test_reasons_name_the_only_search_that_matched(db: Database) -> None:
    by_meaning = explain(db, "zebra")["memory/2026-09-01.md"]
    by_words = explain(db, "freezer", near=False)["memory/2026-09-01.md"]
    assert by_meaning["reasons"][:2] == ["contains none of the terms", "vector rank 1 (cosine 0.97)"]
    assert by_meaning["bm25"] is None
    assert by_words["cosine"] is None
    assert by_words["reasons"][0] == "contains freezer"
    assert "vector" not in by_words["reasons"][1]


def test_reasons_count_other_places_of_the_text(db: Database) -> None:
    told = [each["reasons"][-1] for each in explain(db, "freezer alarm").values()]
    assert told.count("same text in 1 other place") == 1
    publish(db, "memory/c.md", [ENTRY])
    told = [each["reasons"][-1] for each in explain(db, "freezer alarm").values()]
    assert told.count("same text in 2 other places") == 1


def test_reasons_omit_parts_of_a_matched_name(db: Database) -> None:
    why = explain(db, "POL-358 and 358 and the freezer", near=False)["memory/2026-11-19.md"]
    assert why["reasons"][0] == "contains POL-358, freezer"


def test_chunk_lines_are_the_chunks_not_the_snippets(db: Database) -> None:
    publish(db, "memory/c.md", ["one", "two", "the gyroscope", "four"])
    assert explain(db, "gyroscope")["memory/c.md"]["chunk_lines"] == [3, 3]
