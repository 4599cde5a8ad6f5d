"""When nothing that was found has to do with the question."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from memd.index.database import Database
from memd.index.vectors.scan import ScanSearch
from memd.search.find import SearchResult
from memd.search.rank.order import MIN_COSINE
from memd.search.relevance import COSINE_WEIGHT, LINE_MARGIN, MAX_LINES_COMPARED, RELEVANCE_THRESHOLD
from tests.support.indexes import asked, new_index, publish, publish_note, search, store, store_chunks


@pytest.fixture(autouse=True)
def a_memory_large_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let words be weighed in the small memories of these tests."""
    monkeypatch.setattr("memd.search.relevance.MIN_CHUNKS_FOR_WEIGHTS", 1)


OTHERS = [f"entry {number} about something else in the house" for number in range(12)]
FREEZER = "the freezer key hangs beside the door"
CERTAIN = (RELEVANCE_THRESHOLD + LINE_MARGIN) / (2 * COSINE_WEIGHT)
"""Cosine of a chunk from which its lines needn't be read, whatever words say."""


def at(cosine: float) -> NDArray[np.float32]:
    """Return a unit vector so near to the question's."""
    return np.array([cosine, (1 - cosine**2) ** 0.5], dtype=np.float32)


ASKED = at(1.0)


def index(cosine: float | None = None) -> Database:
    """Return an index of a dozen entries and one of a freezer, as near as said to `ASKED`; others are at its back."""
    db = new_index()
    publish(db, "memory/a.md", OTHERS)
    publish(db, "memory/b.md", [FREEZER])
    if cosine is not None:
        store(db, [FREEZER, *OTHERS], np.stack([at(cosine), *(-at(1 - 0.01 * n) for n in range(12))]))
    return db


def ask(
    db: Database, query: str, *, near: bool = False, model: str = "minilm", min_score: float | None = None
) -> SearchResult:
    """Return what is found, by vectors as well where that is said."""
    wanted = asked(query, vector=ASKED if near else None, model=model, min_score=min_score)
    return search(db, wanted, ScanSearch() if near else None)


def paths(found: SearchResult) -> list[str]:
    """Return the files of the hits."""
    return [hit.path for hit in found.hits]


# --- nothing, and words alone ---------------------------------------------------------------------


def test_an_empty_memory_has_nothing() -> None:
    found = ask(new_index(), "freezer")
    assert (found.hits, found.abstained) == ([], True)


def test_a_question_none_of_whose_words_is_there_finds_nothing() -> None:
    found = ask(index(), "zebra giraffe")
    assert (found.hits, found.abstained, found.mode) == ([], True, "keyword")


@pytest.mark.parametrize("query", ["freezer", "freezer key", "where is the freezer key?", "frezer"])
def test_a_true_match_of_a_word_is_never_taken_away(query: str) -> None:
    found = ask(index(), query)
    assert paths(found)[0] == "memory/b.md"
    assert not found.abstained


def test_one_word_of_many_that_tells_little_is_not_enough() -> None:
    """Every entry is in the house: that says nothing about zebras and giraffes."""
    found = ask(index(), "zebra giraffe elephant house")
    assert (found.hits, found.abstained) == ([], True)


def test_whoever_asks_for_any_score_gets_what_there_is() -> None:
    assert len(ask(index(), "zebra giraffe elephant house", min_score=0.0).hits) > 0


def test_a_run_of_han_letters_needs_less() -> None:
    """Many of the pairs it is asked in are no words."""
    db = index()
    publish(db, "memory/c.md", ["备用的会议室钥匙在前台"])
    assert paths(ask(db, "会议室钥匙放在什么地方")) == ["memory/c.md"]


# --- a model whose cosines are known --------------------------------------------------------------


def test_the_nearest_text_is_enough_where_it_is_near() -> None:
    found = ask(index(CERTAIN + 0.01), "zebra giraffe", near=True)
    assert paths(found)[0] == "memory/b.md"
    assert (found.line_check, found.mode) == (None, "hybrid")


def test_what_is_far_and_shares_no_word_is_nothing() -> None:
    found = ask(index(-0.5), "zebra giraffe", near=True)
    assert (found.hits, found.abstained, found.line_check) == ([], True, None)


def test_words_are_enough_however_far_the_vector() -> None:
    found = ask(index(-0.5), "where is the freezer key", near=True)
    assert paths(found)[0] == "memory/b.md"
    assert found.line_check is None


def test_in_doubt_the_nearest_lines_decide() -> None:
    """Hits are returned with what would have to be compared: lines, and how near is near enough."""
    found = ask(index(0.3), "zebra giraffe", near=True)
    assert found.line_check is not None
    assert not found.abstained
    assert found.line_check.lines[0] == FREEZER
    assert found.line_check.min_cosine == pytest.approx(RELEVANCE_THRESHOLD / COSINE_WEIGHT - 0.3)


def test_the_more_words_a_chunk_holds_the_less_near_a_line_has_to_be() -> None:
    db = index(0.2)
    none, some = (
        ask(db, query, near=True).line_check for query in ("zebra giraffe", "zebra freezer giraffe")
    )
    assert none is not None
    assert some is not None
    assert 0 < some.min_cosine < none.min_cosine


def test_lines_are_read_without_headings_blanks_and_repetitions_and_not_too_many() -> None:
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


def test_a_question_in_another_script_is_judged_by_words_alone() -> None:
    """A model of English puts all of them near each other."""
    db = index(0.9)
    assert ask(db, "где ключ от сейфа", near=True).abstained
    publish(db, "memory/c.md", ["ключ от сейфа лежит в ящике"])
    assert paths(ask(db, "где ключ от сейфа", near=True))[0] == "memory/c.md"


# --- a model whose cosines are not known ----------------------------------------------------------


@pytest.mark.parametrize(("cosine", "nothing"), [(MIN_COSINE - 0.02, True), (MIN_COSINE + 0.02, False)])
def test_of_another_model_only_what_is_very_far_is_nothing(cosine: float, nothing: bool) -> None:
    found = ask(index(cosine), "zebra giraffe", near=True, model="embed-3")
    assert (found.abstained, not found.hits, found.line_check) == (nothing, nothing, None)


def test_of_another_model_any_word_keeps_the_list() -> None:
    assert ask(index(-0.5), "zebra giraffe elephant house", near=True, model="embed-3").hits


# --- whatever the figures say ---------------------------------------------------------------------


@pytest.mark.parametrize("near", [False, True])
def test_what_holds_the_very_name_is_relevant(near: bool) -> None:
    db = index(-0.5)
    publish(db, "memory/c.md", ["POL-358"])
    query = "zebra giraffe elephant antelope rhinoceros about POL-358"
    assert paths(ask(db, query, near=near))[0] == "memory/c.md"


@pytest.mark.parametrize("near", [False, True])
def test_what_is_of_a_day_that_was_asked_for_is_relevant(near: bool) -> None:
    db = index(-0.5)
    publish(db, "memory/2026-11-19.md", ["rain"])
    found = ask(db, "zebra giraffe elephant yesterday", near=near)
    assert "memory/2026-11-19.md" in paths(found)
    assert found.line_check is None


def test_in_a_small_memory_any_word_that_matches_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    # given: a memory in which no word is rare
    monkeypatch.setattr("memd.search.relevance.MIN_CHUNKS_FOR_WEIGHTS", 50)
    # when: the one word of four that it holds tells little
    found = ask(index(), "entry unheard unknown unsaid")
    # then
    assert (paths(found) != [], found.abstained) == (True, False)
