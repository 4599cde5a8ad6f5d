"""Strong, weak and unrelated hits."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from memd.index.vectors.scan import ScanSearch
from memd.search.calibration import Calibration
from memd.search.thresholds import MIN_CLOSENESS, WEAK_SCALE
from memd.system.sqlite import Database
from memd_client.messages import Hit
from tests.support.indexes import new_index, publish, search, search_spec, store

APPLE = "the apple tree is an old kind, prune it in late winter"
OTHERS = [f"entry {number} about something else in the house" for number in range(30)]

MODEL = Calibration(0.2, 0.3)
"""The calibration of `minilm` in these tests."""
NEAR, FAR = MODEL.cosine(6), MODEL.cosine(MIN_CLOSENESS)
"""Cosines of an answer in other words, far above those of all other chunks, and of the farthest related chunk."""


@pytest.fixture(autouse=True)
def calibrated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memd.search.rank.order.calibration_of", {"minilm": MODEL}.get)


def at(cosine: float) -> NDArray[np.float32]:
    """Return a unit vector with that cosine to the query's."""
    return np.array([cosine, (1 - cosine**2) ** 0.5], dtype=np.float32)


def index(cosine: float, others: float = 0.1) -> Database:
    """Return an index with a note about an apple tree, and others, with cosines to every query."""
    db = new_index()
    publish(db, "memory/garden.md", [APPLE])
    publish(db, "memory/others.md", OTHERS)
    store(db, [APPLE, *OTHERS], np.stack([at(cosine), *(at(others - 0.001 * n) for n in range(30))]))
    return db


def ask(
    db: Database,
    query: str,
    *,
    include_weak: bool = False,
    min_score: float | None = None,
    model: str = "minilm",
) -> list[Hit]:
    spec = search_spec(
        query, vector=at(1.0), max_results=50, include_weak=include_weak, min_score=min_score, model=model
    )
    return search(db, spec, ScanSearch()).hits


@pytest.mark.parametrize("query", ["apple tree", "which apple tree is it", "apple"])
def test_a_hit_with_the_words_of_the_query_is_strong(query: str) -> None:
    assert ask(index(0.1), query)[0].relevance == "strong"


def test_a_near_hit_is_strong_without_its_words() -> None:
    hit = ask(index(NEAR), "fruit")[0]
    assert (hit.path, hit.relevance) == ("memory/garden.md", "strong")


def test_a_corrected_word_makes_no_hit_strong() -> None:
    db = index(0.1)
    publish(db, "memory/hall.md", ["the umbrella is in the hall"])

    hit = ask(db, "umbrela")[0]

    assert (hit.path, hit.relevance) == ("memory/hall.md", "weak")


def test_one_word_of_many_is_weak_and_scores_low() -> None:
    hit = ask(index(0.3), "who is the chief executive officer of Apple computers")[0]

    assert (hit.path, hit.relevance) == ("memory/garden.md", "weak")
    assert hit.score <= WEAK_SCALE


def test_hits_that_are_neither_near_nor_have_a_word_are_shown_on_request_alone() -> None:
    db = index(NEAR, others=FAR - 0.01)

    assert [hit.path for hit in ask(db, "fruit")] == ["memory/garden.md"]
    everything = ask(db, "fruit", include_weak=True)
    assert len(everything) > 1
    assert {hit.relevance for hit in everything[1:]} == {"weak"}


def test_a_near_hit_without_words_is_kept_as_weak() -> None:
    hits = ask(index(NEAR, others=FAR + 0.05), "fruit")

    assert len(hits) > 1
    assert hits[1].relevance == "weak"


def test_the_minimum_score_is_that_of_the_reply() -> None:
    db = index(0.3)
    query = "who is the chief executive officer of Apple computers"
    score = ask(db, query)[0].score

    assert ask(db, query, min_score=score)[0].score == score
    assert ask(db, query, min_score=score + 0.01) == []


def test_other_models_are_judged_by_the_range_of_their_cosines() -> None:
    db = index(0.9, others=0.7)

    hits = ask(db, "fruit", model="other")

    assert hits[0].path == "memory/garden.md"
    assert hits[0].relevance == "weak"


def test_a_note_whose_vector_is_not_computed_yet_is_judged_by_its_words() -> None:
    db = index(0.1)
    publish(db, "memory/office.md", ["The espresso machine is descaled on the first Monday of each month."])

    hit = ask(db, "when is the espresso machine cleaned")[0]

    assert (hit.path, hit.vector_score, hit.relevance) == ("memory/office.md", None, "strong")
