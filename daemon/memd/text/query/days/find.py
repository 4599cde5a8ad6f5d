"""The days a query asks about: `what did we decide on May 8`, `上周五的会议`."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial

from memd.system.cancellation import check_cancelled
from memd.text.query.dates import ONE_DAY, Days, around
from memd.text.query.days.forms import FORMS, LATIN_FORMS
from memd.text.query.days.words import (
    CJK_PHRASES,
    ENGLISH_WEEKDAYS,
    GERMAN_WEEKDAYS,
    MONTHS,
    NARROW,
    PHRASES,
    SIMPLIFIED,
    UNITS,
    Reader,
    compiled,
)

OLDEST = datetime.date(1970, 1, 1)
"""What is open towards the past begins here."""


@dataclass(frozen=True, slots=True)
class _NamedDays:
    """Days that were found in a text: where they are named, which they are, and which from another present day."""

    start: int
    end: int
    days: Days
    seen_from: Callable[[datetime.date], Days | None]


_FURTHEST = 24
"""Most characters of a word before or behind the days."""

_ARTICLE = r"(?:\s{1,3}(?:the|dem|den|der|zum|le|la|el|o|il|l'|du))?\s{0,3}\Z"
_BEFORE_THEM = (
    r"(?<!\w)(?:(?:the\s)?(?:(?P<eve>day\sbefore)|(?P<next>day\safter)|(?P<lead>week\sbefore)"
    r"|(?P<wake>week\safter)|(?P<week>week\sof))|(?P<since>(?:ever\s)?since|seit|depuis|desde|dal|dalla|с|со)"
    r"|(?P<until>until|till|up\sto|bis|jusqu'au|jusqu'à|jusqu'|hasta|até|fino\sal?)"
    r"|(?P<before>before|prior\sto|earlier\sthan|vor|avant|antes\sdel?|antes\sd[oa]|prima\sdel?|prima\sdi|до)"
    r"|(?P<after>after|later\sthan|nach|après|después\sdel?|depois\sd[eoa]|dopo|после)"
    rf"){_ARTICLE}"
    r"|(?P<since_han>自从|(?<!来)自)\s?\Z|(?P<until_han>截至|截止|直到)\s?\Z"
)
_BEHIND_THEM = (
    r"\s?(?:(?P<since>以来|以降|至今|开始|起(?![来床])|から|이후|부터|이래|\sonwards?\b)"
    r"|(?P<until>为止|まで|까지)"
    r"|(?P<before>之前|以前|(?<=[日号月年份])前(?![面后端天年月])|이전)"
    r"|(?P<after>之后|以后|(?<=[日号月年份])后(?![面来端天年台续])))"
    r"|(?P<week>那一?周)|(?P<eve>的?前一天)|(?P<next>的?(?:后一天|第二天|次日))"
)
_BETWEEN_OPENS = rf"(?<!\w)(?:between|zwischen|entre|tra|fra|между){_ARTICLE}"
_FROM_OPENS = rf"(?<!\w)(?:from|since|vom|von|du|del|dal|de|с|со){_ARTICLE}|从\s?\Z"
_BETWEEN_CLOSES = r"\s?(?:之间|の间|사이)"
_UP_TO = (
    r"\s{0,3}-\s{0,3}|\s?(?:到|至|から|부터|에서)\s?|"
    r"\s{1,3}(?:to|through|thru|until|till|bis|au|al|à|a|até|hasta|по|до)(?:\s{1,3}(?:the|zum|den|le|el))?\s{1,3}"
)
_AND = r"\s{1,3}(?:and|und|et|y|e|и)(?:\s{1,3}(?:the|dem|le|el))?\s{1,3}|\s?[和与及と]\s?"


def _link(text: str, found: Sequence[_NamedDays], today: datetime.date) -> list[tuple[int, int, Days]]:
    """Return days with the words around them taken into account."""
    linked = []
    at = 0
    while at < len(found):
        span = _range(text, found[at], found[at + 1]) if at + 1 < len(found) else None
        at += 1 if span is None else 2
        linked.append(span or _opened(text, found[at - 1], today))
    return [each for each in linked if each is not None]


def _range(text: str, one: _NamedDays, other: _NamedDays) -> tuple[int, int, Days] | None:
    """Return two neighbours as one where the text says from the one to the other."""
    gap = text[one.end : other.start]
    ahead = text[max(0, one.start - _FURTHEST) : one.start]
    between = compiled(_BETWEEN_OPENS).search(ahead)
    opens = between or compiled(_FROM_OPENS).search(ahead)
    end = other.end
    if compiled(_AND).fullmatch(gap):
        closes = compiled(_BETWEEN_CLOSES).match(text, end)
        if closes is None and between is None:
            return None
        end = end if closes is None else closes.end()
    elif compiled(_UP_TO).fullmatch(gap) is None:
        return None
    first, last = one.days[0], other.days[1]
    if first > last:
        # Without a year the first end is the latest before the second, not before today.
        earlier = one.seen_from(last)
        if earlier is None or earlier[0] > last:
            return None
        first = earlier[0]
    return one.start if opens is None else one.start - len(ahead) + opens.start(), end, (first, last)


def _opened(text: str, one: _NamedDays, today: datetime.date) -> tuple[int, int, Days] | None:
    """Return days as the word before or behind them opens them; None if no day is left."""
    start, end = one.start, one.end
    ahead = text[max(0, start - _FURTHEST) : start]
    before = compiled(_BEFORE_THEM).search(ahead)
    behind = compiled(_BEHIND_THEM).match(text, end, end + _FURTHEST)
    opener = before or behind
    if opener is None:
        return start, end, one.days
    word = str(opener.lastgroup).removesuffix("_han")
    if before is not None:
        start += before.start() - len(ahead)
    if behind is not None and behind.lastgroup == word:
        end = behind.end()
    try:
        return start, end, _open_days(word, one.days, today)
    except OverflowError:
        return None


def _open_days(word: str, days: Days, today: datetime.date) -> Days:
    first, last = days
    after = last + ONE_DAY
    return {
        "since": (first, max(first, today)),
        "until": (OLDEST, last),
        "before": (OLDEST, first - ONE_DAY),
        "after": (after, max(after, today)),
        "eve": (first - ONE_DAY, first - ONE_DAY),
        "next": (after, after),
        "lead": (first - 7 * ONE_DAY, first - ONE_DAY),
        "wake": (after, last + 7 * ONE_DAY),
        # `the second week of May`: some week of it.
        "week": around("week", first) if first == last else days,
    }[word]


MOST_CHARACTERS = 2000
"""How much of a query is read. A longer one is a pasted text, whose days are its own."""


@dataclass(frozen=True, slots=True)
class DaySpan:
    """Days a query names, the first and the last among them, and the part of it that names them."""

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
"""What every writing has something of. Most queries have nothing of it, and are done."""


def find_days(query: str, today: datetime.date) -> tuple[DaySpan, ...]:
    """Return the days a query names.

    Without a year they are the latest that aren't after today. What is open ends today, or begins with `OLDEST`.
    """
    text = _readable(query[:MOST_CHARACTERS])
    if not _may_name_days(text):
        return ()
    spans = []
    for start, end, (first, last) in _link(text, _disjoint(_named_in(query, text, today)), today):
        first = max(first, OLDEST)
        if first <= last:
            spans.append(DaySpan(first, last, query[start:end].strip()))
    return tuple(spans)


def _readable(query: str) -> str:
    """Return a query of the same length in lower case, simplified letters and narrow digits."""
    text = query.lower()
    if len(text) != len(query):
        text = "".join(each.lower()[0] for each in query)
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


def _named_in(query: str, text: str, today: datetime.date) -> Iterator[_NamedDays]:
    """Yield everything that reads as days, overlaps and all."""
    cut = compiled(_CUT)
    for pattern, read in LATIN_FORMS if text.isascii() else FORMS:
        check_cancelled()
        for match in compiled(pattern).finditer(text):
            named = match.groupdict()
            if named.get("capital") == "may" and not query[match.start("capital")].isupper():
                continue
            seen_from = partial(_read, read, match)
            days = seen_from(today)
            start, end = match.span("it" if "it" in named else 0)
            if days is not None and not (
                (match.start() and cut.match(text, match.start() - 1)) or cut.match(text, end - 1)
            ):
                yield _NamedDays(start, end, days, seen_from)


def _read(read: Reader, match: re.Match[str], today: datetime.date) -> Days | None:
    """Return what a match means, or None if it is no date: no 30th of February, nothing before the year 1."""
    try:
        return read(match, today)
    except (ValueError, LookupError, OverflowError):
        return None


def _disjoint(found: Iterable[_NamedDays]) -> list[_NamedDays]:
    """Return what doesn't overlap, in order: the earlier first, then the longer."""
    chosen: list[_NamedDays] = []
    for each in sorted(found, key=lambda one: (one.start, -one.end)):
        if not chosen or each.start >= chosen[-1].end:
            chosen.append(each)
    return chosen
