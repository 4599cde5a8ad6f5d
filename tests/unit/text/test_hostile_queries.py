"""Queries made to cost much: what a search does with one grows no faster than the query, and has an upper limit."""

from __future__ import annotations

import datetime
import re
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from memd.search.query import MAX_QUERY_CHARS
from memd.text.query.days.find import find_days
from memd.text.query.exact import find_literals
from memd.text.query.keywords import MOST_PHRASES, MOST_TERMS, plan_match
from memd.text.query.terms import MOST_TOKENS

TODAY = datetime.date(2026, 5, 8)

UNITS = {
    "latin run": "abcdefghij",
    "han run": "租约什么时候结束的中文",
    "katakana run": "カタログシステム",
    "hiragana run": "ひらがなのぶんしょう",
    "hangul run": "한국어문장",
    "thai run": "ภาษาไทยยาว",
    "digits": "1234567890",
    "emoji": "😀🚀",
    "compound": "a.b-c/",
    "words": "lease ends soon ",
    "quoted words": '"lease ends" ',
    "opened quotes": "“a",
    "days": "may 8 last week 2026-05-08 ",
    "days of cjk": "5月8日 이번 ",
    "names": "POL-358 v1.2.3 ",
    "nothing but signs": "-./",
    "base64": "QUJDREVGR0hJSktM",
}


def hostile(unit: str, size: int) -> str:
    """Return a query of one kind. Its Han letters are all different ones, so that no piece of it is a repetition."""
    if unit == UNITS["han run"]:
        return "".join(chr(0x4E00 + number * 7 % 20_000) for number in range(size))
    return (unit * (size // len(unit) + 1))[:size]


def calls_of(work: Callable[[], Any]) -> int:
    """Return how many calls of functions, and resumptions of generators, some work takes."""
    count = 0

    def note(_: FrameType, event: str, __: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def read(query: str) -> None:
    """Do with a query what a search does before it asks the index."""
    find_days(query, TODAY)
    plan_match(query)
    find_literals(query)


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
def test_reading_a_query_takes_no_more_than_proportional_steps(unit: str) -> None:
    read(hostile(unit, MAX_QUERY_CHARS))  # caches are filled

    small = calls_of(lambda: read(hostile(unit, MAX_QUERY_CHARS // 8)))
    large = calls_of(lambda: read(hostile(unit, MAX_QUERY_CHARS)))

    assert large <= 16 * small + 1000


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
def test_what_the_index_is_asked_has_an_upper_limit(unit: str) -> None:
    plan = plan_match(hostile(unit, MAX_QUERY_CHARS))

    for asked in filter(None, (plan.any, plan.strict)):
        phrases = re.findall('"([^"]*)"', asked)
        assert len(phrases) <= MOST_PHRASES
        assert max(len(re.findall(r"\w+", phrase)) for phrase in phrases) <= MOST_TOKENS
    assert len(plan.terms) <= MOST_TERMS
    assert len(plan.exact) <= MOST_TERMS
