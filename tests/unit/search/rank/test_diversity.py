"""Near repetitions come later."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memd.search.rank.fusion import Ranked
from memd.search.rank.stages import rerank_mmr


def ranked(at: int, score: float, snippet: str) -> Ranked:
    """Return a scored candidate with that text."""
    return Ranked(at, "memory/a.md", at, at, snippet, None, None, score)


def ids(items: list[Ranked]) -> list[str | int]:
    """Return the ids in order."""
    return [item.id for item in items]


ITEMS = [
    ranked(1, 1.0, "red blue green"),
    ranked(2, 0.9, "Red, blue green!"),
    ranked(3, 0.5, "something else"),
]


def test_a_repetition_goes_behind_something_new() -> None:
    assert ids(rerank_mmr(ITEMS, 0.5)) == [1, 3, 2]


def test_relevance_alone_keeps_the_order() -> None:
    assert ids(rerank_mmr(ITEMS, 1.0)) == ids(rerank_mmr(ITEMS, 7)) == [1, 2, 3]


def test_cjk_texts_are_compared_by_character() -> None:
    items = [ranked(1, 1.0, "部署方案今天"), ranked(2, 0.9, "部署方案明天"), ranked(3, 0.5, "客户颜色")]

    assert ids(rerank_mmr(items, 0.4)) == [1, 3, 2]


def test_texts_without_words_are_alike() -> None:
    assert ids(rerank_mmr([ranked(1, 1, "!"), ranked(2, 0.9, "?"), ranked(3, 0.8, "word")], 0.3)) == [1, 3, 2]


@given(
    st.lists(st.tuples(st.floats(0, 1), st.text("ab ", max_size=6)), max_size=15).map(
        lambda rows: [ranked(at, score, text) for at, (score, text) in enumerate(rows)]
    ),
    st.floats(-1, 2),
)
def test_all_remain_and_the_best_stays_first(items: list[Ranked], lambda_: float) -> None:
    reranked = rerank_mmr(items, lambda_)

    assert sorted(map(str, reranked)) == sorted(map(str, items))
    if items and lambda_ > 0:
        # With novelty alone even the first is as good as any: only then may it be another.
        assert reranked[0].score == max(item.score for item in items)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.text("ab ", max_size=6)), max_size=15).map(
        lambda rows: [ranked(at, score, text) for at, (score, text) in enumerate(rows)]
    ),
    st.integers(0, 16),
)
def test_a_limit_changes_nothing_before_it(items: list[Ranked], limit: int) -> None:
    whole = rerank_mmr(items, 0.5)
    limited = rerank_mmr(items, 0.5, limit)

    assert limited[:limit] == whole[:limit]
    assert [item.score for item in limited[limit:]] == sorted(
        (item.score for item in limited[limit:]), reverse=True
    )
