"""Days named in a query: exact ranges, slices of the query, no errors."""

from __future__ import annotations

import calendar
import datetime
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memd.text.query.days.find import OLDEST_DAY, DaySpan, find_days
from memd.text.query.days.words import cached_pattern

TODAY = datetime.date(2026, 5, 20)
"""A Wednesday."""


def named(query: str, today: datetime.date = TODAY) -> list[str]:
    """Return the spans of a query, each as `first last`, or as one day."""
    return [
        f"{span.first}" if span.first == span.last else f"{span.first} {span.last}"
        for span in find_days(query, today)
    ]


def only(query: str, today: datetime.date = TODAY) -> DaySpan:
    """Return the one span of a query."""
    (span,) = find_days(query, today)
    return span


@pytest.mark.parametrize(
    ("query", "today", "span"),
    [
        ("yesterday", "2026-01-01", "2025-12-31"),
        ("last month", "2026-01-31", "2025-12-01 2025-12-31"),
        ("last week", "2026-01-01", "2025-12-22 2025-12-28"),
        ("this week", "2026-01-01", "2025-12-29 2026-01-04"),
        ("last year", "2026-01-01", "2025-01-01 2025-12-31"),
        ("a year ago", "2024-02-29", "2023-01-01 2023-12-31"),
        ("the past year", "2024-02-29", "2023-02-28 2024-02-29"),
        ("the past month", "2026-03-31", "2026-02-28 2026-03-31"),
        ("three months ago", "2026-02-10", "2025-11-01 2025-11-30"),
        ("last quarter", "2026-02-10", "2025-10-01 2025-12-31"),
        ("in February", "2024-03-01", "2024-02-01 2024-02-29"),
        ("in February", "2100-03-01", "2100-02-01 2100-02-28"),
        ("December 31", "2026-01-01", "2025-12-31"),
        ("January 1", "2026-01-01", "2026-01-01"),
        ("Feb 29", "2026-05-20", "2024-02-29"),
        ("Feb 29", "2104-02-28", "2096-02-29"),
        ("Feb 29", "2024-02-29", "2024-02-29"),
        ("25/12/2025", "2026-05-20", "2025-12-25"),
        ("2月29日", "2026-05-20", "2024-02-29"),
        ("on the 31st", "2026-03-01", "2026-01-31"),
        ("last Monday", "2026-05-18", "2026-05-11"),
        ("on Monday", "2026-05-18", "2026-05-18"),
        ("last weekend", "2026-05-17", "2026-05-09 2026-05-10"),
        ("over the weekend", "2026-05-16", "2026-05-16 2026-05-17"),
        ("上周五", "2026-01-01", "2025-12-26"),
        ("2026-W01", "2026-05-20", "2025-12-29 2026-01-04"),
        ("since 2027-01-01", "2026-05-20", "2027-01-01"),
    ],
)
def test_borders_of_months_and_years_are_exact(query: str, today: str, span: str) -> None:
    assert named(query, datetime.date.fromisoformat(today)) == [span]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("What did Ann say on May 8th, 2026 about it?", "May 8th, 2026"),
        ("What happened since  last Week?", "since  last Week"),
        ("Between May 3 and 8, what changed", "Between May 3 and 8"),
        ("memory/2026-05-08.md", "2026-05-08"),
        ("İn 5 days: what we did YESTERDAY", "YESTERDAY"),
        ("It was on 8 May.", "8 May"),
        ("上個星期五的會議", "上個星期五"),
        ("５月８日に何をした", "５月８日"),
        ("qu’a-t-on fait l’année dernière", "l’année dernière"),
    ],
)
def test_the_part_that_names_the_days_is_a_slice_of_the_query(query: str, text: str) -> None:
    assert only(query).text == text


def test_several_days_are_returned_in_order() -> None:
    query = "compare May 8, last week and yesterday"

    assert [span.text for span in find_days(query, TODAY)] == ["May 8", "last week", "yesterday"]
    assert named(query) == ["2026-05-08", "2026-05-11 2026-05-17", "2026-05-19"]


def test_adjacent_days_without_a_connecting_word_stay_separate() -> None:
    assert named("May 3 and May 8") == ["2026-05-03", "2026-05-08"]
    assert named("2026-05-08, 2026-05-09") == ["2026-05-08", "2026-05-09"]


def test_days_beyond_the_read_length_are_ignored() -> None:
    assert find_days("yesterday " + "word " * 1000, TODAY) != ()
    assert find_days("word " * 1000 + "yesterday", TODAY) == ()


def test_import_compiles_no_day_pattern() -> None:
    loaded_before = "msgspec, pathlib, re, memd.text.query.dates"
    script = f"import {loaded_before}; re.compile = None; import memd.text.query.days.find"

    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_query_without_day_characters_compiles_no_form() -> None:
    cached_pattern.cache_clear()

    assert find_days("what is our retry budget of 5", TODAY) == ()
    before = cached_pattern.cache_info().currsize
    assert find_days("what was it on May 8", TODAY) != ()

    assert before <= 3 < cached_pattern.cache_info().currsize


FRAGMENTS = st.sampled_from(
    "May may 8 8th 31 30 2026 2026-05-08 05/08/2026 8.5.2026 Feb 29 Q2 in of on last this since before until after "
    "between and from to the week of month year day days ago past few two 9999 Monday weekend yesterday today vor "
    "seit Tagen letzten hier est вчера мая назад 5月 五月 八号 8日 上 上周 周五 "
    "周末 去年 前 天 三 半 个 之前 以来 从 到 和 之间 "
    "最近 季度 지난 주 전 일 昨日 から ５ İ ß ' ’ - – / . , ? ( ) W19 KW \ud800 \0".split()
)
QUESTIONS = st.one_of(
    st.text(max_size=40),
    st.lists(FRAGMENTS, max_size=9).map(" ".join),
    st.lists(FRAGMENTS, max_size=9).map("".join),
)


@given(QUESTIONS, st.dates())
@example("before today", datetime.date.min)
@example("after today", datetime.date.max)
@example("this week", datetime.date.max)
def test_spans_are_ordered_slices_of_any_query(query: str, today: datetime.date) -> None:
    for span in find_days(query, today):
        assert OLDEST_DAY <= span.first <= span.last
        assert span.text
        assert span.text in query


SINCE_THE_OLDEST = st.dates(min_value=OLDEST_DAY, max_value=datetime.date(2199, 12, 31))


@given(SINCE_THE_OLDEST, SINCE_THE_OLDEST)
def test_a_full_date_is_that_day_in_every_format(day: datetime.date, today: datetime.date) -> None:
    name = calendar.month_name[day.month]
    for written in (
        day.isoformat(),
        day.strftime("%Y/%m/%d"),
        f"{day.day}.{day.month}.{day.year}",
        f"{day.year}年{day.month}月{day.day}日",
        f"{name} {day.day}, {day.year}",
        f"{day.day} {name} {day.year}",
    ):
        assert only(written, today) == DaySpan(day, day, written)


@given(SINCE_THE_OLDEST, SINCE_THE_OLDEST)
def test_a_date_without_a_year_is_the_latest_not_after_today(
    day: datetime.date, today: datetime.date
) -> None:
    found = find_days(f"{calendar.month_name[day.month]} {day.day}", today)

    if found:  # a leap day may be before the oldest day
        assert (found[0].first.month, found[0].first.day) == (day.month, day.day)
        assert found[0].first <= today
        assert (today - found[0].first).days < 366 or (day.month, day.day) == (2, 29)
    else:
        assert today < OLDEST_DAY + datetime.timedelta(1500)


@given(SINCE_THE_OLDEST)
def test_units_before_today_follow_each_other_without_a_gap(today: datetime.date) -> None:
    for unit in ("week", "month", "quarter", "year"):
        present = find_days(f"this {unit}", today)[0]
        last = find_days(f"last {unit}", today)

        assert present.first <= today <= present.last
        for earlier in last:
            assert earlier.last + datetime.timedelta(1) == present.first or earlier.first == OLDEST_DAY
