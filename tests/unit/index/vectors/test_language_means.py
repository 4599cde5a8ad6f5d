"""Tests of searches in several languages with a model that prefers the query's language."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from memd.index.vectors import language_means
from memd.index.vectors.language_means import LanguageMeansCache, load_means, mean_vectors
from memd.system.sqlite import Database
from tests.support.indexes import (
    SPACE,
    LoadingMatrix,
    new_cache,
    new_index,
    publish_lines,
    search,
    search_spec,
    unit,
)

SUBJECTS = 25
"""Chunks of each language, each about another subject."""

ENGLISH, GERMAN = 0, 1
"""Dimensions that all texts of a language share; the others are subjects."""

DIMS = 2 + 2 * SUBJECTS


def row(language: int, subject: int) -> list[float]:
    """Return the vector of a text: its language counts more than its subject."""
    vector = [0.0] * DIMS
    vector[language], vector[2 + subject] = 0.9, 0.44
    return vector


def index_of(lines: Sequence[str], rows: Sequence[list[float]]) -> Database:
    db = new_index()
    publish_lines(db, lines, unit(rows))
    return db


@pytest.fixture
def notes() -> Database:
    """English notes about the first subjects, German ones about the others."""
    lines = [f"The note has number e{number} and is about the house." for number in range(SUBJECTS)]
    lines += [f"Die Notiz hat die Nummer g{number} und ist über das Haus." for number in range(SUBJECTS)]
    rows = [row(ENGLISH, subject) for subject in range(SUBJECTS)]
    rows += [row(GERMAN, SUBJECTS + subject) for subject in range(SUBJECTS)]
    return index_of(lines, rows)


QUESTION = unit([row(ENGLISH, SUBJECTS + 7)])[0]
"""An English question about the subject of a German note."""


def first_hit(db: Database, model: str) -> str:
    wanted = search_spec("qqq", vector=QUESTION, model=model, min_score=0, include_weak=True)
    return search(db, wanted, LoadingMatrix(), cache=new_cache()).hits[0].snippet


def test_e5_finds_the_answer_in_another_language_before_unrelated_notes_in_its_own(notes: Database) -> None:
    assert "Nummer g7 " in first_hit(notes, "e5")
    assert "Nummer g7 " in first_hit(notes, "multilingual-e5-small-q4_0.gguf#1234")
    assert "number e" in first_hit(notes, "minilm")


def test_other_models_search_with_the_query_itself(notes: Database) -> None:
    for model in ("minilm", "text-embedding-3-small", "jane5-model"):
        shifted = LanguageMeansCache().shift(notes, SPACE.id, model, QUESTION, 50)
        assert shifted.values is QUESTION
        assert shifted.cosine_of(0.5) == 0.5


def test_cosine_of_a_shifted_query_is_about_that_in_notes_of_one_language(notes: Database) -> None:
    means = load_means(notes, SPACE.id)
    assert means is not None
    shifted = means.shift(QUESTION)
    answer = unit([row(GERMAN, SUBJECTS + 7)])[0]
    own = unit([row(ENGLISH, SUBJECTS + 7)])[0]
    cosine = float(shifted.values @ answer) / float(np.linalg.norm(shifted.values))
    plain, same = float(answer @ QUESTION), float(own @ QUESTION)
    assert plain < 0.3
    assert (plain + same) / 2 < shifted.cosine_of(cosine) <= same


def test_notes_in_one_language_have_no_means() -> None:
    lines = [f"The note has number e{number} and is about the house." for number in range(30)]
    db = index_of(lines, [row(ENGLISH, subject) for subject in range(30)])
    assert load_means(db, SPACE.id) is None


def test_language_with_few_chunks_has_no_mean() -> None:
    vectors = unit([row(ENGLISH, subject) for subject in range(SUBJECTS)] + [row(GERMAN, 1)] * 3)
    assert len(mean_vectors(["en"] * SUBJECTS + ["de"] * 3, vectors).by_language) == 1


def test_wrong_guesses_of_one_language_have_no_mean() -> None:
    vectors = unit([row(ENGLISH, subject % SUBJECTS) for subject in range(2 * SUBJECTS)])
    languages = ["en"] * SUBJECTS + ["fr"] * SUBJECTS
    assert len(mean_vectors(languages, vectors).by_language) == 1


def test_means_follow_the_index_after_enough_changes(
    notes: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[str] = []

    def load(db: Database, space_id: str) -> None:
        loads.append(space_id)

    monkeypatch.setattr(language_means, "load_means", load)
    cache = LanguageMeansCache()
    for chunk_count in (50, 50, 54, 56):
        cache.shift(notes, SPACE.id, "e5", QUESTION, chunk_count)
    assert loads == [SPACE.id] * 2
    cache.shift(notes, "another space", "e5", QUESTION, 56)
    assert loads[2:] == ["another space"]
