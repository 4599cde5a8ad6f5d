"""Merging hits of several agents."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memd.search.rank.agents import HitScores, count_fitting, merge_agents

SCORES = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
HITS = st.builds(HitScores, SCORES, st.none() | SCORES, st.none() | st.floats(0, 20))
RANKINGS = st.lists(st.lists(HITS, max_size=6), max_size=5)


@given(RANKINGS, st.integers(1, 12), st.booleans())
def test_merged_hits_keep_each_agents_order_without_gaps_or_repetitions(
    rankings: list[list[HitScores]], most: int, comparable: bool
) -> None:
    merged = merge_agents(rankings, most, comparable=comparable)

    assert len(merged) == min(most, sum(map(len, rankings)))
    for agent in range(len(rankings)):
        ranks = [rank for whose, rank in merged if whose == agent]
        assert ranks == list(range(len(ranks)))


@given(RANKINGS, st.integers(1, 12), st.booleans())
def test_a_shorter_list_is_the_start_of_a_longer_one(
    rankings: list[list[HitScores]], most: int, comparable: bool
) -> None:
    longer = merge_agents(rankings, most + 1, comparable=comparable)

    assert merge_agents(rankings, most, comparable=comparable) == longer[:most]


@given(st.lists(st.integers(1, 700), max_size=20), st.integers(1, 5_000))
def test_first_snippet_that_does_not_fit_ends_the_list(lengths: list[int], max_chars: int) -> None:
    count = count_fitting(lengths, max_chars)

    assert sum(lengths[:count]) <= max_chars
    assert count == len(lengths) or sum(lengths[: count + 1]) > max_chars


@given(RANKINGS)
def test_comparable_scores_in_order_fall_from_the_first_hit_to_the_last(
    rankings: list[list[HitScores]],
) -> None:
    in_order = [sorted(hits, key=lambda hit: -hit.score) for hits in rankings]

    merged = merge_agents(in_order, 30, comparable=True)

    scores = [in_order[agent][rank].score for agent, rank in merged]
    assert scores == sorted(scores, reverse=True)


@given(RANKINGS)
def test_incomparable_scores_are_interleaved_by_rank(rankings: list[list[HitScores]]) -> None:
    merged = merge_agents(rankings, 30, comparable=False)

    assert merged == sorted(merged, key=lambda place: (place[1], place[0]))


def test_equal_scores_are_ordered_by_cosine_then_bm25_then_agent() -> None:
    far, near = HitScores(1.0, 0.3, 9.0), HitScores(1.0, 0.8, 2.0)
    by_words, fewer_words = HitScores(1.0, None, 7.0), HitScores(1.0, None, 3.0)

    merged = merge_agents([[fewer_words], [far], [by_words], [near], [near]], 9, comparable=True)

    assert [agent for agent, _ in merged] == [3, 4, 1, 2, 0]


def test_a_higher_scored_second_hit_stays_after_its_agents_first_hit() -> None:
    reranked = [HitScores(0.4, 0.4, None), HitScores(0.9, 0.9, None)]

    merged = merge_agents([reranked, [HitScores(0.5, 0.5, None)]], 3, comparable=True)

    assert merged == [(1, 0), (0, 0), (0, 1)]
