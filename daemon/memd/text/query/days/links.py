"""Words around named days that open them: since, until, before, after, between, and the week of a day."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memd.text.query.days.patterns import compiled
from memd.text.query.days.units import ONE_DAY, Days, around

OLDEST = datetime.date(1970, 1, 1)
"""What is open towards the past begins here."""


@dataclass(frozen=True, slots=True)
class Found:
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
_TO = (
    r"\s{0,3}-\s{0,3}|\s?(?:到|至|から|부터|에서)\s?|"
    r"\s{1,3}(?:to|through|thru|until|till|bis|au|al|à|a|até|hasta|по|до)(?:\s{1,3}(?:the|zum|den|le|el))?\s{1,3}"
)
_AND = r"\s{1,3}(?:and|und|et|y|e|и)(?:\s{1,3}(?:the|dem|le|el))?\s{1,3}|\s?[和与及と]\s?"


def link(text: str, found: Sequence[Found], today: datetime.date) -> list[tuple[int, int, Days]]:
    """Return days with the words around them taken into account."""
    linked = []
    at = 0
    while at < len(found):
        span = _range(text, found[at], found[at + 1]) if at + 1 < len(found) else None
        at += 1 if span is None else 2
        linked.append(span or _opened(text, found[at - 1], today))
    return [each for each in linked if each is not None]


def _range(text: str, one: Found, other: Found) -> tuple[int, int, Days] | None:
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
    elif compiled(_TO).fullmatch(gap) is None:
        return None
    first, last = one.days[0], other.days[1]
    if first > last:
        # Without a year the first end is the latest before the second, not before today.
        earlier = one.seen_from(last)
        if earlier is None or earlier[0] > last:
            return None
        first = earlier[0]
    return one.start if opens is None else one.start - len(ahead) + opens.start(), end, (first, last)


def _opened(text: str, one: Found, today: datetime.date) -> tuple[int, int, Days] | None:
    """Return days as the word before or behind them opens them; None where no day is left."""
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
    """Return days as a word opens them."""
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
