"""Judging hits by place, and comparing two measurements."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from memd.evaluation.measure import QueryOutcome, compare, groups_of, judge, percentile, summarize
from memd.evaluation.notes import Note, NoteKind, NoteLine
from memd.evaluation.queries import EvalQuery, QueryKind, Wording
from memd.text.cut.chunking import Chunk
from tests.unit.cli.memctl_runner import KEYS, LEASE, found

SENTENCE = "The lease ends in June; ask about leasing again."
CHUNK = Chunk(12, 20, SENTENCE, "")


def line_at(number: int, kind: NoteKind = NoteKind.DAILY, path: str = LEASE.path) -> NoteLine:
    """Return a line of a note."""
    return NoteLine(Note(path, kind, ""), number, SENTENCE, False, CHUNK)


QUERY = EvalQuery(QueryKind.SENTENCE, "lease June leasing", SENTENCE, (line_at(13),))


def outcome(query: EvalQuery = QUERY, *shares: str) -> QueryOutcome:
    """Return an outcome."""
    return QueryOutcome(query, frozenset(shares), took_ms=2.0, characters=100)


def test_hit_at_the_place_is_first_found_and_shown() -> None:
    judged = judge(QUERY, found(LEASE, KEYS))

    assert judged.shares == {"first", "found", "shown"}
    assert judged.characters == len(LEASE.snippet) + len(KEYS.snippet)


def test_second_hit_at_the_place_is_found_but_not_first() -> None:
    judged = judge(QUERY, found(KEYS, LEASE))

    assert judged.shares == {"found", "shown"}


def test_hit_near_the_line_whose_snippet_ends_before_it_is_found_but_not_shown() -> None:
    judged = judge(QUERY, found(structs.replace(LEASE, snippet="## Flat", end_line=12)))

    assert judged.shares == {"first", "found"}


def test_hit_in_another_part_of_the_file_is_not_found() -> None:
    far = structs.replace(LEASE, start_line=40, end_line=44, snippet="The lease of the car.")

    assert not judge(QUERY, found(far)).shares


def test_copy_of_the_sentence_in_another_file_is_found() -> None:
    assert judge(
        QUERY, found(structs.replace(LEASE, path="memory/copy.md", start_line=1, end_line=2))
    ).shares == {
        "first",
        "found",
        "shown",
    }


def test_same_few_words_in_another_file_are_no_copy() -> None:
    heading = replace(QUERY, answer="The lease", lines=(line_at(13, path="memory/a.md"),))

    assert not judge(heading, found(LEASE)).shares


def test_reply_without_hits_is_refused() -> None:
    judged = judge(QUERY, structs.replace(found(), abstained=True))

    assert judged.shares == {"refused"}
    assert judged.characters == 0


def test_figures_are_shares_and_percentiles() -> None:
    figures = summarize([outcome(QUERY, "found"), outcome(), outcome(QUERY, "refused"), outcome()])

    assert [figures[name] for name in ("queries", "found", "refused", "p95_ms")] == [4, 0.25, 0.25, 2.0]
    assert percentile([1.0, 2.0, 3.0, 4.0], 0.5) == 2.0
    assert percentile([1.0], 0.95) == 1.0


def test_groups_have_the_order_of_their_kinds_and_none_is_empty() -> None:
    typo = replace(QUERY, wording=Wording.TYPO, lines=(line_at(13, NoteKind.CURATED),))
    groups = groups_of([outcome(typo), outcome(), outcome(typo)])

    assert list(groups["wordings"]) == ["as written", "with a typo"]
    assert [len(each) for each in groups["file_kinds"].values()] == [1, 2]


def test_equal_measurements_differ_by_nothing() -> None:
    same = [outcome(QUERY, "found"), outcome()]

    difference = compare(same, same, "found")
    assert (difference.value, difference.low, difference.high) == (0, 0, 0)


def test_queries_from_one_line_are_resampled_together() -> None:
    # one line alone: every resample is the same, so the interval has no width
    now, other = [outcome(), outcome()], [outcome(QUERY, "found"), outcome()]

    difference = compare(now, other, "found")
    assert (difference.value, difference.low, difference.high) == (0.5, 0.5, 0.5)


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 9)), min_size=1, max_size=40))
def test_difference_lies_in_its_interval_and_is_repeatable(pairs: list[tuple[bool, bool, int]]) -> None:
    queries = [replace(QUERY, lines=(line_at(number),)) for _, _, number in pairs]
    now = [outcome(query, *["found"] * each[0]) for query, each in zip(queries, pairs, strict=True)]
    other = [outcome(query, *["found"] * each[1]) for query, each in zip(queries, pairs, strict=True)]

    difference = compare(now, other, "found")

    assert difference == compare(now, other, "found")
    assert -1 <= difference.low <= difference.high <= 1
    assert difference.value == pytest.approx(sum(each[1] - each[0] for each in pairs) / len(pairs))
