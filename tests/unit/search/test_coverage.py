"""Coverage: the share of a query's terms in a chunk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from memd.search.relevance import WeighedTerm, coverage, weigh_terms
from memd.search.thresholds import CORRECTED_WEIGHT, SHORT_QUERY_CORRECTED_WEIGHT
from memd.system.sqlite import Database
from tests.support.indexes import chunk_ids, new_index, publish, search_spec, snapshot_of

COMMON = [f"a release of service {number}" for number in range(20)]
RARE = "the freezer key is with Anna"
BOTH = "the release key"


@pytest.fixture
def db() -> Database:
    """An index in which `release` is common and `freezer` is rare."""
    db = new_index(extension=False)
    publish(db, "memory/a.md", [*COMMON, RARE, BOTH])
    return db


def weigh(
    db: Database,
    query: str,
    texts: Sequence[str],
    corrections: Mapping[str, tuple[str, ...]] | None = None,
) -> list[WeighedTerm]:
    """Return the weighed terms of a query and which texts have them."""
    ids = chunk_ids(db)
    snapshot = snapshot_of(db)
    query_of_text = search_spec(query).query(snapshot)
    return weigh_terms(snapshot, query_of_text, corrections or {}, [ids[text] for text in texts])


def test_rare_words_weigh_more_and_no_weight_is_negative(db: Database) -> None:
    release, freezer, zebra = weigh(db, "release freezer zebra", [RARE, BOTH])

    assert 0 < release.weight < freezer.weight < zebra.weight
    assert (release.chunks, freezer.chunks, zebra.chunks) == (21, 1, 0)
    assert freezer.matching == {chunk_ids(db)[RARE]}
    assert zebra.matching == frozenset()


def test_a_chunk_with_all_terms_has_a_coverage_of_1(db: Database) -> None:
    words = weigh(db, "who has the freezer key", [RARE, BOTH])
    ids = chunk_ids(db)
    assert coverage(words, ids[RARE]) == 1.0
    assert 0 < coverage(words, ids[BOTH]) < 0.5


def test_a_term_missing_from_the_index_lowers_every_coverage(db: Database) -> None:
    ids = chunk_ids(db)
    known, unknown = (coverage(weigh(db, query, [RARE]), ids[RARE]) for query in ("freezer", "freezer zebra"))
    assert known == 1.0
    assert unknown < 0.5


def test_a_corrected_term_weighs_less_than_a_matching_one(db: Database) -> None:
    """In a short query it weighs nearly as much: it was mistyped."""
    ids = chunk_ids(db)
    guesses = {"freezr": ("freezer",), "ann": ("anna",), "kye": ("key",)}

    short = weigh(db, "freezr", [RARE, BOTH], guesses)
    long = weigh(db, "freezr kye ann", [RARE, BOTH], guesses)

    assert [word.corrections for word in long] == [guesses[word.word] for word in long]
    assert coverage(short, ids[RARE]) == pytest.approx(SHORT_QUERY_CORRECTED_WEIGHT)
    assert coverage(long, ids[RARE]) == pytest.approx(CORRECTED_WEIGHT)
    assert coverage(short, ids[BOTH]) == 0.0


def test_a_query_without_terms_has_a_coverage_of_0(db: Database) -> None:
    assert coverage([], 1) == 0.0
    assert weigh(db, "?!", [RARE]) == []


def test_a_phrase_only_repeats_its_words(db: Database) -> None:
    assert [word.word for word in weigh(db, '"freezer key"', [RARE])] == ["freezer", "key"]
