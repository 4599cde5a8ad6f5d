"""The probability that a hit holds what a query asks for."""

from __future__ import annotations

import pytest

from memd.system.sqlite import Database
from memd_client.messages import Hit
from tests.support.indexes import new_index, publish_note, search, search_spec


@pytest.fixture
def db() -> Database:
    """Notes about a house, among others."""
    db = new_index(extension=False)
    publish_note(db, "memory/router.md", "The router in the hall has the address 192.168.7.1.")
    publish_note(db, "memory/hall.md", "The hall was painted in May.")
    for number in range(20):
        publish_note(db, f"memory/day-{number}.md", f"On day {number} we cooked and read a book.")
    return db


def hits_of(db: Database, query: str) -> list[Hit]:
    return search(db, search_spec(query, min_score=0.0, explain=True)).hits


def probability(hit: Hit) -> float:
    assert hit.explain is not None
    return float(hit.explain["probability"])


def test_a_hit_with_all_words_of_the_query_is_more_likely_than_one_with_the_subject_alone(
    db: Database,
) -> None:
    whole, subject = hits_of(db, "address of the router in the hall")[:2]

    assert whole.path == "memory/router.md"
    assert probability(whole) > 0.5 > probability(subject)
    assert (whole.relevance, subject.relevance) == ("strong", "weak")


def test_the_right_subject_with_another_detail_is_weak(db: Database) -> None:
    best = hits_of(db, "which company repaired the roof of the hall after the storm")[0]

    assert best.path == "memory/hall.md"
    assert best.relevance == "weak"


def test_an_explanation_names_the_model_and_its_features(db: Database) -> None:
    explain = hits_of(db, "router")[0].explain or {}

    assert explain["judge"] == "keywords"
    assert explain["features"]["lead"] == 1.0
    assert explain["features"]["whole"] == 1.0


def test_a_question_without_an_answer_is_weak(db: Database) -> None:
    publish_note(
        db, "memory/chat.md", "User: which wallpaper does the cellar have?\nAssistant: I could not find that."
    )

    best = hits_of(db, "which wallpaper does the cellar have")[0]

    assert (best.path, best.relevance) == ("memory/chat.md", "weak")
