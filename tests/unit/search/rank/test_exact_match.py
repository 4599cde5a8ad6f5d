"""Very names come before guesses, days that were asked for before others; nothing else is turned around."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memd.search.rank.fusion import Ranked, best_first
from memd.search.rank.stages import DAY_SHARE, MOST_GUESSED, prefer_days, put_exact_first

SCORES = st.floats(0, 1) | st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0])
VECTORS = st.none() | st.floats(-1, 1)


def ranked(at: int, score: float, vector: float | None = None) -> Ranked:
    """Return a candidate with that id and score."""
    return Ranked(at, "memory/a.md", at, at + 1, "", vector, None, score)


def pools(least: int = 0) -> st.SearchStrategy[list[Ranked]]:
    """Return candidates with distinct ids, in any order."""
    rows = st.lists(st.tuples(SCORES, VECTORS), min_size=least, max_size=12)
    return rows.map(lambda each: [ranked(at, score, vector) for at, (score, vector) in enumerate(each)])


HELD: st.SearchStrategy[dict[str | int, int]] = st.dictionaries(st.integers(0, 11), st.integers(0, 4))


def ids(items: Sequence[Ranked]) -> list[str | int]:
    """Return the ids of candidates."""
    return [item.id for item in items]


@given(pools(), HELD)
@example([ranked(1, 0.0), ranked(2, 1.0, 0.9)], {1: 1})
@example([ranked(1, 0.0, 0.1), ranked(2, 1.0, 0.9)], {1: 2, 2: 1})
@example([ranked(1, 0.0), ranked(2, 0.9, 0.9)], {1: 1})
def test_whoever_holds_more_of_the_names_is_never_below(
    pool: list[Ranked], held: dict[str | int, int]
) -> None:
    counts = [held.get(item.id, 0) for item in put_exact_first(pool, held)]

    assert counts == sorted(counts, reverse=True)


@given(pools(), HELD)
def test_the_order_within_a_group_stays(pool: list[Ranked], held: dict[str | int, int]) -> None:
    before, after = best_first(pool), put_exact_first(pool, held)

    for count in range(5):
        group = [item.id for item in before if held.get(item.id, 0) == count]
        assert [item.id for item in after if held.get(item.id, 0) == count] == group


@given(pools(), HELD)
def test_scores_stay_between_0_and_1_best_first(pool: list[Ranked], held: dict[str | int, int]) -> None:
    scores = [item.score for item in put_exact_first(pool, held)]

    assert all(0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)


@given(pools(), HELD)
def test_only_scores_change(pool: list[Ranked], held: dict[str | int, int]) -> None:
    given_rows = {item.id: (item.path, item.vector_score) for item in pool}

    after = put_exact_first(pool, held)

    assert {item.id: (item.path, item.vector_score) for item in after} == given_rows
    assert len(after) == len(pool)


@given(pools())
def test_where_nobody_holds_a_name_nothing_changes(pool: list[Ranked]) -> None:
    assert put_exact_first(pool, {}) == best_first(pool)
    assert put_exact_first(pool, {item.id: 0 for item in pool}) == best_first(pool)


def test_guesses_share_the_room_below_and_names_the_room_above() -> None:
    pool = [ranked(1, 1.0), ranked(2, 0.5), ranked(3, 0.2), ranked(4, 0.4)]

    after = put_exact_first(pool, {3: 2, 4: 1})

    assert ids(after) == [3, 4, 1, 2]
    assert [item.score for item in after] == pytest.approx([0.96, 0.92, MOST_GUESSED, MOST_GUESSED / 2])


def test_guesses_that_are_low_enough_keep_their_scores() -> None:
    after = put_exact_first([ranked(1, 0.7), ranked(2, 0.1), ranked(3, 0.3)], {2: 1})

    assert [(item.id, item.score) for item in after[1:]] == [(1, 0.7), (3, 0.3)]


@given(pools(), st.sets(st.integers(0, 11)))
def test_days_keep_scores_between_0_and_1_best_first(pool: list[Ranked], asked: set[str | int]) -> None:
    after = prefer_days(pool, asked)

    assert all(0 <= item.score <= 1 for item in after)
    assert after == best_first(after)
    assert sorted(map(str, ids(after))) == sorted(map(str, ids(pool)))


@given(pools(), st.sets(st.integers(0, 11), min_size=1))
def test_of_two_equal_ones_that_of_the_day_is_first(pool: list[Ranked], asked: set[str | int]) -> None:
    before = {item.id: item.score for item in pool}
    place = {item.id: at for at, item in enumerate(prefer_days(pool, asked))}

    for one in before.keys() & asked:
        for other in before.keys() - asked:
            if before[one] >= before[other]:
                assert place[one] < place[other]


def test_a_note_of_another_day_may_still_be_first() -> None:
    after = prefer_days([ranked(1, 1.0), ranked(2, 0.3), ranked(3, 0.6)], {2, 3})

    assert ids(after) == [3, 1, 2]
    assert [item.score for item in after] == pytest.approx(
        [(1 - DAY_SHARE) * 0.6 + DAY_SHARE, 1 - DAY_SHARE, (1 - DAY_SHARE) * 0.3 + DAY_SHARE]
    )


@given(pools())
def test_without_a_day_nothing_changes(pool: list[Ranked]) -> None:
    assert prefer_days(iter(pool), set()) == best_first(pool)
