"""Judging hits by place, and comparing two measurements."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from memd.cli.evaluation.notes import NoteKind
from memd.cli.evaluation.outcomes import (
    SHARES,
    QueryOutcome,
    compare,
    groups_of,
    judge,
    percentile,
    summarize,
)
from memd.cli.evaluation.queries import EvalQuery, QueryKind, QueryPlace, Wording
from tests.unit.cli.memctl_runner import KEYS, LEASE, found

SENTENCE = "The lease ends in June; ask about leasing again."
QUERY = EvalQuery(
    "lease June leasing",
    QueryKind.SENTENCE,
    Wording.AS_WRITTEN,
    NoteKind.DAILY,
    LEASE.path,
    13,
    (QueryPlace(LEASE.path, 12, 20, (SENTENCE,)),),
    "a1",
)


def outcome(query: EvalQuery = QUERY, **facts: bool) -> QueryOutcome:
    """Return an outcome."""
    known = {"is_first": False, "is_found": False, "is_shown": False, "is_refused": False} | facts
    return QueryOutcome(query, took_ms=2.0, characters=100, **known)


def test_hit_at_the_place_is_first_found_and_shown() -> None:
    judged = judge(QUERY, found(LEASE, KEYS))

    assert (judged.is_first, judged.is_found, judged.is_shown) == (True, True, True)
    assert judged.characters == len(LEASE.snippet) + len(KEYS.snippet)


def test_second_hit_at_the_place_is_found_but_not_first() -> None:
    judged = judge(QUERY, found(KEYS, LEASE))

    assert (judged.is_first, judged.is_found, judged.is_shown) == (False, True, True)


def test_hit_near_the_line_whose_snippet_ends_before_it_is_found_but_not_shown() -> None:
    judged = judge(QUERY, found(structs.replace(LEASE, snippet="## Flat", end_line=12)))

    assert (judged.is_found, judged.is_shown) == (True, False)


def test_hit_in_another_part_of_the_file_is_not_found() -> None:
    far = structs.replace(LEASE, start_line=40, end_line=44, snippet="The lease of the car.")

    assert not judge(QUERY, found(far)).is_found


def test_copy_of_the_sentence_in_another_file_is_found() -> None:
    assert judge(
        QUERY, found(structs.replace(LEASE, path="memory/copy.md", start_line=1, end_line=2))
    ).is_first


def test_same_few_words_in_another_file_are_no_copy() -> None:
    heading = replace(QUERY, places=(QueryPlace("memory/a.md", 1, 4, ("The lease",)),))

    assert not judge(heading, found(LEASE)).is_found


def test_reply_without_hits_is_refused() -> None:
    judged = judge(QUERY, structs.replace(found(), abstained=True))

    assert (judged.is_refused, judged.is_found, judged.characters) == (True, False, 0)


def test_figures_are_shares_and_percentiles() -> None:
    figures = summarize([outcome(is_found=True), outcome(), outcome(is_refused=True), outcome()])

    assert (figures.queries, figures.found, figures.refused, figures.p95_ms) == (4, 0.25, 0.25, 2.0)
    assert percentile([1.0, 2.0, 3.0, 4.0], 0.5) == 2.0
    assert percentile([1.0], 0.95) == 1.0


def test_groups_have_the_order_of_their_kinds_and_none_is_empty() -> None:
    typo = replace(QUERY, wording=Wording.TYPO, file_kind=NoteKind.CURATED)
    groups = groups_of([outcome(typo), outcome(), outcome(typo)])

    assert list(groups["wordings"]) == ["as written", "with a typo"]
    assert [len(each) for each in groups["file_kinds"].values()] == [1, 2]


def test_equal_measurements_differ_by_nothing() -> None:
    same = [outcome(is_found=True), outcome()]

    difference = compare(same, same, SHARES["found"])
    assert (difference.value, difference.low, difference.high) == (0, 0, 0)


def test_wordings_of_one_query_are_resampled_together() -> None:
    # one origin alone: every resample is the same, so the interval has no width
    now, other = [outcome(), outcome()], [outcome(is_found=True), outcome()]

    difference = compare(now, other, SHARES["found"])
    assert (difference.value, difference.low, difference.high) == (0.5, 0.5, 0.5)


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 9)), min_size=1, max_size=40))
def test_difference_lies_in_its_interval_and_is_repeatable(pairs: list[tuple[bool, bool, int]]) -> None:
    queries = [replace(QUERY, origin=str(origin)) for _, _, origin in pairs]
    now = [outcome(query, is_found=each[0]) for query, each in zip(queries, pairs, strict=True)]
    other = [outcome(query, is_found=each[1]) for query, each in zip(queries, pairs, strict=True)]

    difference = compare(now, other, SHARES["found"], seed=3)

    assert difference == compare(now, other, SHARES["found"], seed=3)
    assert -1 <= difference.low <= difference.high <= 1
    assert difference.value == pytest.approx(sum(each[1] - each[0] for each in pairs) / len(pairs))
