"""Relevance check of hits."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from memd.index.vectors.scan import ScanSearch
from memd.search.calibration import Calibration
from memd.search.find import SearchResult
from memd.search.relevance import MAX_LINES_COMPARED
from memd.search.thresholds import CLOSENESS_WEIGHT, LINE_MARGIN, MIN_COSINE, RELEVANCE_THRESHOLD
from memd.system.sqlite import Database
from tests.support.indexes import new_index, publish, publish_note, search, search_spec, store, store_chunks


@pytest.fixture(autouse=True)
def a_memory_large_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the minimum index size for term weights."""
    monkeypatch.setattr("memd.search.thresholds.MIN_CHUNKS_FOR_WEIGHTS", 1)
    monkeypatch.setattr("memd.search.rank.order.calibration_of", {"minilm": MODEL, "polyglot": POLYGLOT}.get)


OTHERS = [f"entry {number} about something else in the house" for number in range(12)]
FREEZER = "the freezer key hangs beside the door"
MODEL = Calibration(0.2, 0.4)
POLYGLOT = Calibration(0.2, 0.4, has_all_scripts=True)
"""Calibrations of models in these tests; another model has none."""
CERTAIN = MODEL.cosine((RELEVANCE_THRESHOLD + LINE_MARGIN) / (2 * CLOSENESS_WEIGHT))
"""Cosine from which a chunk is relevant without a line check or coverage."""


def at(cosine: float) -> NDArray[np.float32]:
    """Return a unit vector with that cosine to the query's."""
    return np.array([cosine, (1 - cosine**2) ** 0.5], dtype=np.float32)


ASKED = at(1.0)


def index(cosine: float | None = None) -> Database:
    """Return an index of twelve entries opposite to `ASKED`, and one about a freezer with a given cosine."""
    db = new_index()
    publish(db, "memory/a.md", OTHERS)
    publish(db, "memory/b.md", [FREEZER])
    if cosine is not None:
        store(db, [FREEZER, *OTHERS], np.stack([at(cosine), *(-at(1 - 0.01 * n) for n in range(12))]))
    return db


def ask(
    db: Database, query: str, *, near: bool = False, model: str = "minilm", min_score: float | None = None
) -> SearchResult:
    """Return the result of a search, with a vector if `near`."""
    wanted = search_spec(query, vector=ASKED if near else None, model=model, min_score=min_score)
    return search(db, wanted, ScanSearch() if near else None)


def paths(found: SearchResult) -> list[str]:
    """Return the files of the hits."""
    return [hit.path for hit in found.hits]


# --- no matches, and keyword search ---------------------------------------------------------------


def test_an_empty_index_returns_no_hits() -> None:
    found = ask(new_index(), "freezer")
    assert (found.hits, found.abstained) == ([], True)


def test_a_query_without_matching_terms_returns_no_hits() -> None:
    found = ask(index(), "zebra giraffe")
    assert (found.hits, found.abstained, found.mode) == ([], True, "keyword")


@pytest.mark.parametrize("query", ["freezer", "freezer key", "where is the freezer key?", "frezer"])
def test_a_keyword_match_is_relevant(query: str) -> None:
    found = ask(index(), query)
    assert paths(found)[0] == "memory/b.md"
    assert not found.abstained


def test_one_common_term_of_many_is_irrelevant() -> None:
    """Every entry contains `house`, so that word says nothing about zebras and giraffes."""
    found = ask(index(), "zebra giraffe elephant house")
    assert (found.hits, found.abstained) == ([], True)


def test_a_min_score_of_0_skips_the_relevance_check() -> None:
    assert len(ask(index(), "zebra giraffe elephant house", min_score=0.0).hits) > 0


def test_a_cjk_query_needs_less_coverage() -> None:
    """Many of its letter pairs are not words."""
    db = index()
    publish(db, "memory/c.md", ["备用的会议室钥匙在前台"])
    assert paths(ask(db, "会议室钥匙放在什么地方")) == ["memory/c.md"]


# --- a calibrated model ---------------------------------------------------------------------------


def test_a_high_cosine_is_relevant() -> None:
    found = ask(index(CERTAIN + 0.01), "zebra giraffe", near=True)
    assert paths(found)[0] == "memory/b.md"
    assert (found.line_check, found.mode) == (None, "hybrid")


def test_a_low_cosine_without_matching_terms_is_irrelevant() -> None:
    found = ask(index(-0.5), "zebra giraffe", near=True)
    assert (found.hits, found.abstained, found.line_check) == ([], True, None)


def test_high_coverage_is_relevant_for_any_cosine() -> None:
    found = ask(index(-0.5), "where is the freezer key", near=True)
    assert paths(found)[0] == "memory/b.md"
    assert found.line_check is None


def test_in_doubt_the_result_has_a_line_check() -> None:
    """The hits come with the lines to compare and the minimum cosine."""
    found = ask(index(0.3), "zebra giraffe", near=True)
    assert found.line_check is not None
    assert not found.abstained
    assert found.line_check.lines[0] == FREEZER
    assert found.line_check.min_cosine == pytest.approx(
        MODEL.cosine(RELEVANCE_THRESHOLD / CLOSENESS_WEIGHT - MODEL.closeness(0.3))
    )


def test_higher_coverage_lowers_the_min_cosine_of_lines() -> None:
    db = index(0.3)
    none, some = (
        ask(db, query, near=True).line_check for query in ("zebra giraffe", "zebra freezer giraffe")
    )
    assert none is not None
    assert some is not None
    assert 0 < some.min_cosine < none.min_cosine


def test_line_checks_skip_headings_blanks_and_repetitions() -> None:
    # given: one note of many lines
    db = new_index()
    lines = [f"line {number}" for number in range(30)]
    text = "# A title\n\n- the same\n- the same\n" + "\n".join(lines)
    chunks = publish_note(db, "memory/a.md", text)
    store_chunks(db, chunks, np.stack([at(0.3)] * len(chunks)))
    # when
    look = ask(db, "zebra giraffe", near=True).line_check
    # then
    assert look is not None
    assert look.lines == ("- the same", *lines[: MAX_LINES_COMPARED - 1])


def test_relevance_of_another_script_ignores_vectors() -> None:
    """An English model gives all of them similar vectors."""
    db = index(0.9)
    assert ask(db, "где ключ от сейфа", near=True).abstained
    publish(db, "memory/c.md", ["ключ от сейфа лежит в ящике"])
    assert paths(ask(db, "где ключ от сейфа", near=True))[0] == "memory/c.md"


def test_relevance_of_another_script_uses_vectors_of_a_model_for_all_scripts() -> None:
    assert paths(ask(index(0.9), "где ключ от сейфа", near=True, model="polyglot")) != []
    assert ask(index(0.0), "где ключ от сейфа", near=True, model="polyglot").abstained


# --- an uncalibrated model ------------------------------------------------------------------------


@pytest.mark.parametrize(("cosine", "nothing"), [(MIN_COSINE - 0.02, True), (MIN_COSINE + 0.02, False)])
def test_with_an_uncalibrated_model_only_very_low_cosines_are_irrelevant(
    cosine: float, nothing: bool
) -> None:
    found = ask(index(cosine), "zebra giraffe", near=True, model="embed-3")
    assert (found.abstained, not found.hits, found.line_check) == (nothing, nothing, None)


def test_with_an_uncalibrated_model_any_keyword_match_is_relevant() -> None:
    assert ask(index(-0.5), "zebra giraffe elephant house", near=True, model="embed-3").hits


# --- independent of scores ------------------------------------------------------------------------


@pytest.mark.parametrize("near", [False, True])
def test_an_exact_match_is_relevant(near: bool) -> None:
    db = index(-0.5)
    publish(db, "memory/c.md", ["POL-358"])
    query = "zebra giraffe elephant antelope rhinoceros about POL-358"
    assert paths(ask(db, query, near=near))[0] == "memory/c.md"


@pytest.mark.parametrize("near", [False, True])
def test_a_note_of_a_day_in_the_query_is_relevant(near: bool) -> None:
    db = index(-0.5)
    publish(db, "memory/2026-11-19.md", ["rain"])
    found = ask(db, "zebra giraffe elephant yesterday", near=near)
    assert "memory/2026-11-19.md" in paths(found)
    assert found.line_check is None


def test_in_a_small_index_any_keyword_match_is_relevant(monkeypatch: pytest.MonkeyPatch) -> None:
    # given: an index in which no term is rare
    monkeypatch.setattr("memd.search.thresholds.MIN_CHUNKS_FOR_WEIGHTS", 50)
    # when: only one common term of four matches
    found = ask(index(), "entry unheard unknown unsaid")
    # then
    assert (paths(found) != [], found.abstained) == (True, False)
