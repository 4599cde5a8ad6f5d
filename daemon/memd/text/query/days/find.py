"""The days a question asks about: `what did we decide on May 8`, `上周五的会议`."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial

from memd.system.cancellation import check_cancelled
from memd.text.query.days import turns, written, written_cjk
from memd.text.query.days.links import OLDEST, Found, link
from memd.text.query.days.patterns import Form, Reader, compiled
from memd.text.query.days.units import Days
from memd.text.query.days.words import (
    CJK_PHRASES,
    ENGLISH_WEEKDAYS,
    GERMAN_WEEKDAYS,
    MONTHS,
    NARROW,
    PHRASES,
    SIMPLIFIED,
    UNITS,
)

MOST_CHARACTERS = 2000
"""How much of a question is read. A longer one is a pasted text, whose days are its own."""


@dataclass(frozen=True, slots=True)
class DaySpan:
    """Days a question names, the first and the last among them, and the part of it that names them."""

    first: datetime.date
    last: datetime.date
    text: str


_READABLE = SIMPLIFIED | NARROW | str.maketrans(dict.fromkeys("\t\n\r\v\f\xa0\u2009\u202f", " "))

# Two letters side by side beyond Latin-1: what begins or ends between them is the part of a word.
_CUT = "[a-z\xdf-\u04ff][\u0100-\u04ff]|[\u0100-\u04ff][a-z\xdf-\u04ff]"
# A word may stand between Han letters without a space.
_WORDS = "[a-z\xdf-\u024f\u0400-\u04ff]+"
_MARK = r"[0-9]|[^\x00-\x7f]"
_SIGNS = (
    r"(?:19[7-9]|20[0-9]|21[0-9])[0-9]|[0-9](?:/|\. ?)[0-9]|[0-9](?:st|nd|rd|th)|[qt][1-4]|kw ?[0-9]"
    r"|[0-9〇零一二三四五六七八九十廿卅两半几数个ヶヵかカ箇몇] ?(?:[月日号天周年월일년주달개]|星期|礼拜)"
    "|[1-4一二三四] ?(?:季度|四半期|分期|분기)"
    rf"|[周期拜][一二三四五六日天末]|(?:이번|지난|저번) |{'|'.join(sorted(CJK_PHRASES))}"
)
"""What every writing has something of. Most questions have nothing of it, and are done."""

_LATIN: tuple[Form, ...] = (*written.FORMS, *turns.FORMS)
_ALL: tuple[Form, ...] = (*_LATIN, *written_cjk.FORMS)


def find_days(question: str, today: datetime.date) -> tuple[DaySpan, ...]:
    """Return the days a question names.

    Without a year they are the latest that aren't after today. What is open ends today, or begins with `OLDEST`.
    """
    text = _readable(question[:MOST_CHARACTERS])
    if not _may_name_days(text):
        return ()
    spans = []
    for start, end, (first, last) in link(text, _disjoint(_found(question, text, today)), today):
        first = max(first, OLDEST)
        if first <= last:
            spans.append(DaySpan(first, last, question[start:end].strip()))
    return tuple(spans)


def _readable(question: str) -> str:
    """Return a question of the same length in lower case, simplified letters and narrow digits."""
    text = question.lower()
    if len(text) != len(question):
        text = "".join(each.lower()[0] for each in question)
    return text.translate(_READABLE)


def _may_name_days(text: str) -> bool:
    """Return whether a text has a word or a sign that days are written with."""
    if not _telling().isdisjoint(compiled(_WORDS).findall(text)):
        return True
    return bool(compiled(_MARK).search(text) and compiled(_SIGNS).search(text))


@cache
def _telling() -> frozenset[str]:
    """Return the words that days are written with; of turns of phrase the longest word."""
    phrases = (max(compiled(_WORDS).findall(phrase), key=len) for phrase in PHRASES)
    return frozenset(
        {*MONTHS, *ENGLISH_WEEKDAYS, *GERMAN_WEEKDAYS, *UNITS, *phrases, "weekend", "wochenende", "неделю"}
    )


def _found(question: str, text: str, today: datetime.date) -> Iterator[Found]:
    """Yield everything that reads as days, overlaps and all."""
    cut = compiled(_CUT)
    for pattern, read in _LATIN if text.isascii() else _ALL:
        check_cancelled()
        for match in compiled(pattern).finditer(text):
            named = match.groupdict()
            if named.get("capital") == "may" and not question[match.start("capital")].isupper():
                continue
            seen_from = partial(_read, read, match)
            days = seen_from(today)
            start, end = match.span("it" if "it" in named else 0)
            if days is not None and not (
                (match.start() and cut.match(text, match.start() - 1)) or cut.match(text, end - 1)
            ):
                yield Found(start, end, days, seen_from)


def _read(read: Reader, match: re.Match[str], today: datetime.date) -> Days | None:
    """Return what a match means, or None where it is no date: no 30th of February, nothing before the year 1."""
    try:
        return read(match, today)
    except (ValueError, LookupError, OverflowError):
        return None


def _disjoint(found: Iterable[Found]) -> list[Found]:
    """Return what doesn't overlap, in order: the earlier first, then the longer."""
    chosen: list[Found] = []
    for each in sorted(found, key=lambda one: (one.start, -one.end)):
        if not chosen or each.start >= chosen[-1].end:
            chosen.append(each)
    return chosen
