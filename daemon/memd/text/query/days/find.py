"""Days named in a query: `what did we decide on May 8`, `上周五的会议`."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial

from msgspec import Struct

from memd.system.cancellation import check_cancelled
from memd.text.query.dates import ONE_DAY, DayRange, unit_around
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
    DayReader,
    cached_pattern,
)

OLDEST_DAY = datetime.date(1970, 1, 1)
"""First day of ranges without a start."""


class _DayMention(Struct, frozen=True):
    """A mention of days in a text: its span, the days, and a function of today's date that returns the days."""

    start: int
    end: int
    days: DayRange
    seen_from: Callable[[datetime.date], DayRange | None]


_MAX_CUE_CHARACTERS = 24
"""Most characters of a cue word before or after the days."""

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


def _link(text: str, found: Sequence[_DayMention], today: datetime.date) -> list[tuple[int, int, DayRange]]:
    """Return the mentioned days with ranges and cue words applied."""
    linked = []
    at = 0
    while at < len(found):
        span = _range(text, found[at], found[at + 1]) if at + 1 < len(found) else None
        at += 1 if span is None else 2
        linked.append(span or _apply_cue(text, found[at - 1], today))
    return [each for each in linked if each is not None]


def _range(text: str, one: _DayMention, other: _DayMention) -> tuple[int, int, DayRange] | None:
    """Return two neighbouring mentions as one range if the text connects them (`from … to …`)."""
    gap = text[one.end : other.start]
    ahead = text[max(0, one.start - _MAX_CUE_CHARACTERS) : one.start]
    between = cached_pattern(_BETWEEN_OPENS).search(ahead)
    opens = between or cached_pattern(_FROM_OPENS).search(ahead)
    end = other.end
    if cached_pattern(_AND).fullmatch(gap):
        closes = cached_pattern(_BETWEEN_CLOSES).match(text, end)
        if closes is None and between is None:
            return None
        end = end if closes is None else closes.end()
    elif cached_pattern(_UP_TO).fullmatch(gap) is None:
        return None
    first, last = one.days[0], other.days[1]
    if first > last:
        # Without a year the start is the latest one before the end, not before today.
        earlier = one.seen_from(last)
        if earlier is None or earlier[0] > last:
            return None
        first = earlier[0]
    return one.start if opens is None else one.start - len(ahead) + opens.start(), end, (first, last)


def _apply_cue(text: str, one: _DayMention, today: datetime.date) -> tuple[int, int, DayRange] | None:
    """Return days changed by the cue word before or after them (`since`, `until`); None if no day remains."""
    start, end = one.start, one.end
    ahead = text[max(0, start - _MAX_CUE_CHARACTERS) : start]
    before = cached_pattern(_BEFORE_THEM).search(ahead)
    behind = cached_pattern(_BEHIND_THEM).match(text, end, end + _MAX_CUE_CHARACTERS)
    opener = before or behind
    if opener is None:
        return start, end, one.days
    word = str(opener.lastgroup).removesuffix("_han")
    if before is not None:
        start += before.start() - len(ahead)
    if behind is not None and behind.lastgroup == word:
        end = behind.end()
    try:
        return start, end, _days_of_cue(word, one.days, today)
    except OverflowError:
        return None


def _days_of_cue(word: str, days: DayRange, today: datetime.date) -> DayRange:
    first, last = days
    after = last + ONE_DAY
    return {
        "since": (first, max(first, today)),
        "until": (OLDEST_DAY, last),
        "before": (OLDEST_DAY, first - ONE_DAY),
        "after": (after, max(after, today)),
        "eve": (first - ONE_DAY, first - ONE_DAY),
        "next": (after, after),
        "lead": (first - 7 * ONE_DAY, first - ONE_DAY),
        "wake": (after, last + 7 * ONE_DAY),
        # `the second week of May`: some week of it.
        "week": unit_around("week", first) if first == last else days,
    }[word]


MAX_QUERY_CHARACTERS = 2000
"""Characters of a query that are read. A longer query is pasted text, whose dates are not about the search."""


class DaySpan(Struct, frozen=True):
    """A range of days named in a query, both inclusive, and the text that names it."""

    first: datetime.date
    last: datetime.date
    text: str


_READABLE = SIMPLIFIED | NARROW | str.maketrans(dict.fromkeys("\t\n\r\v\f\xa0\u2009\u202f", " "))

# Two adjacent letters beyond Latin-1: a match that starts or ends between them is part of a word.
_CUT = "[a-z\xdf-\u04ff][\u0100-\u04ff]|[\u0100-\u04ff][a-z\xdf-\u04ff]"
# Words may appear between Han letters without a space.
_WORDS = "[a-z\xdf-\u024f\u0400-\u04ff]+"
_MARK = r"[0-9]|[^\x00-\x7f]"
_SIGNS = (
    r"(?:19[7-9]|20[0-9]|21[0-9])[0-9]|[0-9](?:/|\. ?)[0-9]|[0-9](?:st|nd|rd|th)|[qt][1-4]|kw ?[0-9]"
    r"|[0-9〇零一二三四五六七八九十廿卅两半几数个ヶヵかカ箇몇] ?(?:[月日号天周年월일년주달개]|星期|礼拜)"
    "|[1-4一二三四] ?(?:季度|四半期|分期|분기)"
    rf"|[周期拜][一二三四五六日天末]|(?:이번|지난|저번) |{'|'.join(sorted(CJK_PHRASES))}"
)
"""Characters that all written days contain; queries without them are skipped."""


def find_days(query: str, today: datetime.date) -> tuple[DaySpan, ...]:
    """Return the days that a query names.

    Dates without a year are the latest that are not after today. Open ranges end today or begin with `OLDEST_DAY`.
    """
    text = _readable(query[:MAX_QUERY_CHARACTERS])
    if not _may_name_days(text):
        return ()
    spans = []
    for start, end, (first, last) in _link(
        text, _without_overlaps(_find_mentions(query, text, today)), today
    ):
        first = max(first, OLDEST_DAY)
        if first <= last:
            spans.append(DaySpan(first, last, query[start:end].strip()))
    return tuple(spans)


def _readable(query: str) -> str:
    """Return a query of the same length in lower case, with simplified letters and narrow digits."""
    text = query.lower()
    if len(text) != len(query):
        text = "".join(each.lower()[0] for each in query)
    return text.translate(_READABLE)


def _may_name_days(text: str) -> bool:
    """Return whether a text contains a word or character used for days."""
    if not _day_words().isdisjoint(cached_pattern(_WORDS).findall(text)):
        return True
    return bool(cached_pattern(_MARK).search(text) and cached_pattern(_SIGNS).search(text))


@cache
def _day_words() -> frozenset[str]:
    """Return the words used for days; of phrases, the longest word."""
    phrases = (max(cached_pattern(_WORDS).findall(phrase), key=len) for phrase in PHRASES)
    return frozenset(
        {*MONTHS, *ENGLISH_WEEKDAYS, *GERMAN_WEEKDAYS, *UNITS, *phrases, "weekend", "wochenende", "неделю"}
    )


def _find_mentions(query: str, text: str, today: datetime.date) -> Iterator[_DayMention]:
    """Yield all mentions of days, including overlapping ones."""
    cut = cached_pattern(_CUT)
    for pattern, read in LATIN_FORMS if text.isascii() else FORMS:
        check_cancelled()
        for match in cached_pattern(pattern).finditer(text):
            named = match.groupdict()
            if named.get("capital") == "may" and not query[match.start("capital")].isupper():
                continue
            seen_from = partial(_read, read, match)
            days = seen_from(today)
            start, end = match.span("it" if "it" in named else 0)
            if days is not None and not (
                (match.start() and cut.match(text, match.start() - 1)) or cut.match(text, end - 1)
            ):
                yield _DayMention(start, end, days, seen_from)


def _read(read: DayReader, match: re.Match[str], today: datetime.date) -> DayRange | None:
    """Return the days of a match, or None if it is not a date (30 February)."""
    try:
        return read(match, today)
    except (ValueError, LookupError, OverflowError):
        return None


def _without_overlaps(found: Iterable[_DayMention]) -> list[_DayMention]:
    """Return mentions without overlaps, in order: earlier ones win, then longer ones."""
    chosen: list[_DayMention] = []
    for each in sorted(found, key=lambda one: (one.start, -one.end)):
        if not chosen or each.start >= chosen[-1].end:
            chosen.append(each)
    return chosen
