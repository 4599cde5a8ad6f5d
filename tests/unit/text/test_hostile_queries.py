"""Expensive queries: the work of a search is linear in the query and limited."""

from __future__ import annotations

import datetime
import re
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from memd.text.query.days.find import find_days
from memd.text.query.exact import find_literals
from memd.text.query.keywords import MAX_PHRASES, MAX_TERMS, plan_match
from memd.text.query.terms import MAX_PHRASE_WORDS
from memd_client.limits import MAX_QUERY_CHARS

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
    """Return a query of one kind. Its Han letters are all different, so that nothing repeats."""
    if unit == UNITS["han run"]:
        return "".join(chr(0x4E00 + number * 7 % 20_000) for number in range(size))
    return (unit * (size // len(unit) + 1))[:size]


def calls_of(work: Callable[[], Any]) -> int:
    """Return the number of function calls and generator resumptions during some work."""
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
    """Read a query as a search does before it uses the index."""
    find_days(query, TODAY)
    plan_match(query)
    find_literals(query)


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
def test_reading_a_query_takes_linear_time(unit: str) -> None:
    read(hostile(unit, MAX_QUERY_CHARS))  # fills caches

    small = calls_of(lambda: read(hostile(unit, MAX_QUERY_CHARS // 8)))
    large = calls_of(lambda: read(hostile(unit, MAX_QUERY_CHARS)))

    assert large <= 16 * small + 1000


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
def test_the_match_expression_has_an_upper_limit(unit: str) -> None:
    plan = plan_match(hostile(unit, MAX_QUERY_CHARS))

    for asked in filter(None, (plan.any, plan.strict)):
        phrases = re.findall('"([^"]*)"', asked)
        assert len(phrases) <= MAX_PHRASES
        assert max(len(re.findall(r"\w+", phrase)) for phrase in phrases) <= MAX_PHRASE_WORDS
    assert len(plan.terms) <= MAX_TERMS
    assert len(plan.exact) <= MAX_TERMS
