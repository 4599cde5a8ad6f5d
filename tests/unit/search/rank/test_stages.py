"""Ranking stages after fusion."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memd.search.rank.fusion import Ranked, best_first
from memd.search.rank.stages import (
    DAY_MS,
    DAY_SHARE,
    MAX_INEXACT_SCORE,
    annotation_weight,
    decay_candidates,
    decay_weight,
    interleave_notes,
    prefer_days,
    put_exact_first,
    put_newest_first,
    rerank_mmr,
    spread_regions,
    weigh_annotated,
)
from memd.text.cut.annotations import Annotations

# --- exact match ---------------------------------------------------------------------------------


SCORES = st.floats(0, 1) | st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0])
VECTORS = st.none() | st.floats(-1, 1)


def ranked(at: int, score: float, vector: float | None = None) -> Ranked:
    """Return a candidate with that id and score."""
    return Ranked(at, "memory/a.md", at, at + 1, "", vector, None, score)


def pools(least: int = 0) -> st.SearchStrategy[list[Ranked]]:
    """Return candidates with distinct ids, in any order."""
    rows = st.lists(st.tuples(SCORES, VECTORS), min_size=least, max_size=12)
    return rows.map(lambda each: [ranked(at, score, vector) for at, (score, vector) in enumerate(each)])


MATCHES: st.SearchStrategy[dict[str | int, int]] = st.dictionaries(st.integers(0, 11), st.integers(0, 4))


def ids(items: Sequence[Ranked]) -> list[str | int]:
    """Return the ids of candidates."""
    return [item.id for item in items]


@given(pools(), MATCHES)
@example([ranked(1, 0.0), ranked(2, 1.0, 0.9)], {1: 1})
@example([ranked(1, 0.0, 0.1), ranked(2, 1.0, 0.9)], {1: 2, 2: 1})
@example([ranked(1, 0.0), ranked(2, 0.9, 0.9)], {1: 1})
def test_more_exact_matches_never_rank_below_fewer(pool: list[Ranked], held: dict[str | int, int]) -> None:
    counts = [held.get(item.id, 0) for item in put_exact_first(pool, held)]

    assert counts == sorted(counts, reverse=True)


@given(pools(), MATCHES)
def test_the_order_within_a_group_stays(pool: list[Ranked], held: dict[str | int, int]) -> None:
    before, after = best_first(pool), put_exact_first(pool, held)

    for count in range(5):
        group = [item.id for item in before if held.get(item.id, 0) == count]
        assert [item.id for item in after if held.get(item.id, 0) == count] == group


@given(pools(), MATCHES)
def test_scores_stay_between_0_and_1_best_first(pool: list[Ranked], held: dict[str | int, int]) -> None:
    scores = [item.score for item in put_exact_first(pool, held)]

    assert all(0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)


@given(pools(), MATCHES)
def test_only_scores_change(pool: list[Ranked], held: dict[str | int, int]) -> None:
    given_rows = {item.id: (item.path, item.vector_score) for item in pool}

    after = put_exact_first(pool, held)

    assert {item.id: (item.path, item.vector_score) for item in after} == given_rows
    assert len(after) == len(pool)


@given(pools())
def test_without_exact_matches_the_ranking_stays_the_same(pool: list[Ranked]) -> None:
    assert put_exact_first(pool, {}) == best_first(pool)
    assert put_exact_first(pool, {item.id: 0 for item in pool}) == best_first(pool)


def test_exact_matches_score_above_the_limit_and_others_below() -> None:
    pool = [ranked(1, 1.0), ranked(2, 0.5), ranked(3, 0.2), ranked(4, 0.4)]

    after = put_exact_first(pool, {3: 2, 4: 1})

    assert ids(after) == [3, 4, 1, 2]
    assert [item.score for item in after] == pytest.approx(
        [0.96, 0.92, MAX_INEXACT_SCORE, MAX_INEXACT_SCORE / 2]
    )


def test_inexact_matches_below_the_limit_keep_their_scores() -> None:
    after = put_exact_first([ranked(1, 0.7), ranked(2, 0.1), ranked(3, 0.3)], {2: 1})

    assert [(item.id, item.score) for item in after[1:]] == [(1, 0.7), (3, 0.3)]


@given(pools(), st.sets(st.integers(0, 11)))
def test_the_days_stage_keeps_scores_between_0_and_1_best_first(
    pool: list[Ranked], asked: set[str | int]
) -> None:
    after = prefer_days(pool, asked)

    assert all(0 <= item.score <= 1 for item in after)
    assert after == best_first(after)
    assert sorted(map(str, ids(after))) == sorted(map(str, ids(pool)))


@given(pools(), st.sets(st.integers(0, 11), min_size=1))
def test_of_two_equal_candidates_the_one_of_the_day_is_first(
    pool: list[Ranked], asked: set[str | int]
) -> None:
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
def test_without_a_day_the_ranking_stays_the_same(pool: list[Ranked]) -> None:
    assert prefer_days(iter(pool), set()) == best_first(pool)


# --- decay ---------------------------------------------------------------------------------------


NOW_MS = int(datetime.datetime(2026, 3, 31, tzinfo=datetime.UTC).timestamp() * 1000)


def dated(path: str, score: float) -> Ranked:
    """Return a scored candidate of a file."""
    return Ranked(path, path, 1, 2, "text", None, None, score)


@pytest.mark.parametrize(
    ("age", "half_life", "weight"),
    [
        (0, 30, 1),
        (30, 30, 0.5),
        (60, 30, 0.25),
        (-5, 30, 1),
        (30, 0, 1),
        (30, -1, 1),
        (math.inf, 30, 1),
        (30, math.nan, 1),
    ],
)
def test_a_note_counts_half_after_each_half_life(age: float, half_life: float, weight: float) -> None:
    assert decay_weight(age, half_life) == pytest.approx(weight)


def test_dated_notes_decay_and_are_reordered() -> None:
    items = [
        dated("memory/2026-03-01.md", 0.8),
        dated("MEMORY.md", 0.6),
        dated("memory/2027-01-01.md", 0.5),
    ]

    faded = decay_candidates(items, NOW_MS, 30)

    assert [item.path for item in faded] == ["MEMORY.md", "memory/2027-01-01.md", "memory/2026-03-01.md"]
    assert [item.score for item in faded] == pytest.approx([0.6, 0.5, 0.4])


def test_age_counts_from_the_start_of_the_day() -> None:
    item = decay_candidates([dated("memory/2026-03-31-call.md", 1.0)], NOW_MS + DAY_MS // 2, 1)[0]

    assert item.score == pytest.approx(math.sqrt(0.5))


# --- annotations ---------------------------------------------------------------------------------


def item(key: int, score: float) -> Ranked:
    """Return a candidate with a score."""
    return Ranked(key, "MEMORY.md", key, key, "", None, 1.0, score)


def scores(items: list[Ranked]) -> list[tuple[str | int, float]]:
    """Return ids and scores in their order."""
    return [(each.id, round(each.score, 6)) for each in items]


@pytest.mark.parametrize(
    ("importance", "weight"), [(None, 1.0), (1, 0.8), (3, 0.9), (5, 1.0), (8, 1.15), (10, 1.25)]
)
def test_a_step_of_importance_counts_5_percent_and_5_is_neutral(
    importance: int | None, weight: float
) -> None:
    assert annotation_weight(Annotations(importance), ()) == pytest.approx(weight)
    assert annotation_weight(Annotations(importance), ()) == annotation_weight(
        Annotations(importance), ("a",)
    )


@pytest.mark.parametrize(
    ("projects", "active", "weight"),
    [
        (("a",), (), 1.0),
        (("a",), ("a",), 1.15),
        (("a",), ("b",), 0.9),
        (("a", "b"), ("a",), 0.9),
        (("a", "b"), ("c", "b", "a"), 1.15),
        ((), ("a",), 1.0),
    ],
)
def test_an_entry_counts_more_if_all_its_projects_are_active_and_less_if_not(
    projects: tuple[str, ...], active: tuple[str, ...], weight: float
) -> None:
    assert annotation_weight(Annotations(projects=projects), active) == weight
    both = annotation_weight(Annotations(10, projects=projects), active)
    assert both == pytest.approx(1.25 * weight)


def test_an_entry_with_an_unreadable_project_is_removed() -> None:
    assert annotation_weight(Annotations(10, is_invalid=True), ("a",)) == 0

    weighed = weigh_annotated([item(1, 0.9), item(2, 0.5)], {1: 0.0})

    assert scores(weighed) == [(2, 0.5)]


def test_annotation_weights_multiply_scores_scaled_to_at_most_1() -> None:
    weighed = weigh_annotated([item(1, 1.0), item(2, 0.9), item(3, 0.4)], {2: 1.25, 3: 0.8})

    assert scores(weighed) == [(2, 1.0), (1, round(1 / 1.125, 6)), (3, round(0.32 / 1.125, 6))]
    assert scores(weigh_annotated([item(1, 0.5), item(2, 0.4)], {2: 1.15})) == [(1, 0.5), (2, 0.46)]


# --- diversity -----------------------------------------------------------------------------------


def worded(at: int, score: float, snippet: str) -> Ranked:
    """Return a scored candidate with that text."""
    return Ranked(at, "memory/a.md", at, at, snippet, None, None, score)


ITEMS = [
    worded(1, 1.0, "red blue green"),
    worded(2, 0.9, "Red, blue green!"),
    worded(3, 0.5, "something else"),
]


def test_a_near_duplicate_ranks_behind_a_distinct_text() -> None:
    assert ids(rerank_mmr(ITEMS, 0.5)) == [1, 3, 2]


def test_a_lambda_of_1_keeps_the_order() -> None:
    assert ids(rerank_mmr(ITEMS, 1.0)) == ids(rerank_mmr(ITEMS, 7)) == [1, 2, 3]


def test_cjk_texts_are_compared_by_character() -> None:
    items = [worded(1, 1.0, "部署方案今天"), worded(2, 0.9, "部署方案明天"), worded(3, 0.5, "客户颜色")]

    assert ids(rerank_mmr(items, 0.4)) == [1, 3, 2]


def test_texts_without_words_are_near_duplicates() -> None:
    assert ids(rerank_mmr([worded(1, 1, "!"), worded(2, 0.9, "?"), worded(3, 0.8, "word")], 0.3)) == [1, 3, 2]


@given(
    st.lists(st.tuples(st.floats(0, 1), st.text("ab ", max_size=6)), max_size=15).map(
        lambda rows: [worded(at, score, text) for at, (score, text) in enumerate(rows)]
    ),
    st.floats(-1, 2),
)
def test_diversity_keeps_all_candidates_and_the_best_first(items: list[Ranked], lambda_: float) -> None:
    reranked = rerank_mmr(items, lambda_)

    assert sorted(map(str, reranked)) == sorted(map(str, items))
    if items and lambda_ > 0:
        # With diversity alone any candidate may be first.
        assert reranked[0].score == max(item.score for item in items)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.text("ab ", max_size=6)), max_size=15).map(
        lambda rows: [worded(at, score, text) for at, (score, text) in enumerate(rows)]
    ),
    st.integers(0, 16),
)
def test_a_limit_keeps_the_order_before_it(items: list[Ranked], limit: int) -> None:
    whole = rerank_mmr(items, 0.5)
    limited = rerank_mmr(items, 0.5, limit)

    assert limited[:limit] == whole[:limit]
    assert [item.score for item in limited[limit:]] == sorted(
        (item.score for item in limited[limit:]), reverse=True
    )


# --- source balance ------------------------------------------------------------------------------


def ranked_kinds(kinds: str) -> list[Ranked]:
    """Return a ranking, best first: `n` a note, `w` an irrelevant note, `t` a transcript."""
    return [Ranked(f"{kind}{at}", "p", 1, 1, "", None, None, 1 - at / 100) for at, kind in enumerate(kinds)]


def seated(kinds: str) -> str:
    """Return the kinds in their balanced order."""
    order = interleave_notes(
        ranked_kinds(kinds), lambda item: str(item.id)[0] == "t", lambda item: str(item.id)[0] == "n"
    )
    return "".join(str(item.id)[0] for item in order)


def test_a_note_behind_many_transcripts_ranks_second() -> None:
    assert seated("ttttttn") == "tnttttt"


def test_better_notes_keep_their_ranks() -> None:
    assert seated("nnnttt") == "nnnttt"


def test_every_second_hit_is_a_note_while_notes_remain() -> None:
    assert seated("ttttttnnn") == "tntntnttt"


def test_an_irrelevant_note_displaces_no_transcript() -> None:
    assert seated("ttttw") == "ttttw"


@given(st.text("ntw", max_size=40))
def test_balancing_keeps_all_hits_and_the_order_of_each_source(kinds: str) -> None:
    order = interleave_notes(
        ranked_kinds(kinds), lambda item: str(item.id)[0] == "t", lambda item: str(item.id)[0] == "n"
    )
    assert sorted(str(item.id) for item in order) == sorted(str(item.id) for item in ranked_kinds(kinds))
    for is_transcript in (True, False):
        places = [int(str(item.id)[1:]) for item in order if (str(item.id)[0] == "t") == is_transcript]
        assert places == sorted(places)


@given(st.text("nt", max_size=40))
def test_half_of_the_first_k_hits_are_notes_while_notes_remain(kinds: str) -> None:
    order = seated(kinds)
    for k in range(len(order) + 1):
        assert order[:k].count("n") >= min(kinds.count("n"), k // 2)


# --- regions and newness --------------------------------------------------------------------------


def spans(*places: tuple[str, int, int], scores: Sequence[float] = (1.0, 0.95, 0.9)) -> list[Ranked]:
    """Return candidates with ids 0, 1, ... at lines of files."""
    rows = enumerate(zip(places, scores, strict=True))
    return [Ranked(key, path, low, high, "", None, None, score) for key, ((path, low, high), score) in rows]


MEETING = spans(("meeting.md", 200, 209), ("meeting.md", 210, 219), ("meeting.md", 90, 99))


@pytest.mark.parametrize(
    ("items", "order"),
    [
        (MEETING, [0, 2, 1]),
        (spans(("chat.md", 10, 19), ("chat.md", 20, 29), ("chat.md", 90, 99)), [0, 1, 2]),
        (spans(("meeting.md", 200, 209), ("meeting.md", 90, 99), ("chat.md", 91, 95)), [0, 1, 2]),
        (spans(("m.md", 200, 209), ("m.md", 210, 219), ("m.md", 1, 2), scores=(1.0, 0.95, 0.5)), [0, 1, 2]),
    ],
)
def test_a_neighbour_in_a_long_file_comes_after_another_region_with_a_close_score(
    items: list[Ranked], order: list[int]
) -> None:
    assert ids(spread_regions(items, {})) == order


def test_regions_stay_behind_exact_matches_and_keep_their_scores() -> None:
    found = spread_regions(MEETING, {0: 1, 1: 1})
    assert ids(found) == [0, 1, 2]
    assert [item.score for item in found] == [1.0, 0.95, 0.9]


def test_the_newest_of_similar_candidates_comes_first_and_the_others_stay() -> None:
    items = spans(("a.md", 1, 2), ("b.md", 1, 2), ("c.md", 1, 2))
    found = put_newest_first(items, {0: 0.0, 1: 0.5, 2: 1.0})
    assert ids(found) == [2, 0, 1]
    assert found[0].score == 1.0
    assert ids(put_newest_first(items, {0: 1.0})) == [0, 1, 2]
