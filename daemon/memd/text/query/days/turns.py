"""Turns of phrase that name days from where one stands: yesterday, two weeks ago, last Monday, the past month."""

from __future__ import annotations

import datetime
import re

from memd.text.query.days.patterns import LEFT, RIGHT, WORD, Form, any_of, compiled
from memd.text.query.days.units import ONE_DAY, Days, latest_weekday, rolling, units_back
from memd.text.query.days.words import ENGLISH_WEEKDAYS, FEW, GERMAN_WEEKDAYS, NUMBERS, PHRASES, UNITS

_COUNTED = rf"(?P<n>[0-9]{{1,4}}|a(?: couple(?: of)?| few)?|ein paar|{WORD}) {{1,3}}(?P<unit>{WORD})"
_LAST = ("last", "past", "previous", "letzten", "letzter", "letztes", "vorigen", "vergangenen", "vergangenes")
_PRESENT = ("this", "diesen", "dieses")
_WEEKDAYS = ENGLISH_WEEKDAYS | GERMAN_WEEKDAYS
_WEEKDAY = any_of(ENGLISH_WEEKDAYS)
# German for `here`, French for `yesterday`: the words around it tell.
_FRENCH = r"\b(?:est|sont|nous|avons|avez|quoi|que|qui|les?|la|des|je|il|elle|été|fait|dit|soir)\b|qu'"
# What repeats, or is still to come.
_NOT_THE_LATEST = "".join(
    rf"(?<!{word}\s)" for word in ("every", "each", "next", "by", "until", "before", "after", "any")
)


def _phrase(match: re.Match[str], today: datetime.date) -> Days:
    """Read `last week`."""
    phrase = " ".join(match[0].split())
    if phrase == "hier" and compiled(_FRENCH).search(match.string) is None:
        raise ValueError("not French")
    return units_back(*PHRASES[phrase], today)


def _count(match: re.Match[str]) -> int | None:
    """Return the number that stands in a turn of phrase: None for a few, 1 where there is none."""
    said = match.groupdict().get("n")
    if said is None:
        return 1
    if said in FEW:
        return None
    return int(said) if said[0].isdigit() else NUMBERS[said]


def _ago(match: re.Match[str], today: datetime.date) -> Days:
    """Read `two weeks ago`: the whole week; `a few days ago`: every day that may be meant."""
    return units_back(UNITS[match["unit"]], _count(match), today)


def _past(match: re.Match[str], today: datetime.date) -> Days:
    """Read `the past three days`, `the past week`."""
    return rolling(UNITS[match["unit"]], _count(match), today)


def _weekday(match: re.Match[str], today: datetime.date) -> Days:
    """Read `on Monday`, `this Monday`, and `last Monday`, which isn't today."""
    cue = match.groupdict().get("cue")
    if cue in _PRESENT:
        today = units_back("week", 0, today)[1]
    elif cue in _LAST:
        today -= ONE_DAY
    return latest_weekday(_WEEKDAYS[match["wd"]], today)


def _weekday_of_week(match: re.Match[str], today: datetime.date) -> Days:
    """Read `Monday last week`."""
    week = units_back("week", int(match["cue"] not in _PRESENT), today)
    return latest_weekday(_WEEKDAYS[match["wd"]], week[1])


def _weekday_range(match: re.Match[str], today: datetime.date) -> Days:
    """Read `between Monday and Wednesday`."""
    end = latest_weekday(_WEEKDAYS[match["wd"]], today)[1]
    return latest_weekday(_WEEKDAYS[match["from"]], end)[0], end


def _weekend(match: re.Match[str], today: datetime.date) -> Days:
    """Read `last weekend`: of last week; `this weekend`: of this one; `on the weekend`: the latest begun."""
    cue = match["cue"]
    back = int(cue in _LAST or (cue not in _PRESENT and today.weekday() < 5))
    sunday = units_back("week", back, today)[1]
    return sunday - ONE_DAY, sunday


FORMS: tuple[Form, ...] = (
    (rf"{LEFT}{any_of(PHRASES)}{RIGHT}", _phrase),
    (rf"{LEFT}{_COUNTED} {{1,3}}(?:ago|fa|atrás|назад){RIGHT}", _ago),
    (rf"{LEFT}(?P<unit>день|неделю|месяц|год) {{1,3}}назад{RIGHT}", _ago),
    (rf"{LEFT}(?:vor|il y a|hace|há) {{1,3}}{_COUNTED}{RIGHT}", _ago),
    (
        rf"{LEFT}(?=(?P<it>(?:last|past|previous|letzten|vergangenen|últimos|últimas|ultimi|ultime|последние|seit|за)"
        rf" {{1,3}}{_COUNTED}{RIGHT}))",
        _past,
    ),
    (
        rf"{LEFT}(?P<n>[0-9]{{1,4}}|{WORD}) {{1,3}}(?:derniers|dernières) {{1,3}}(?P<unit>{WORD}){RIGHT}",
        _past,
    ),
    (
        rf"{LEFT}(?:past|(?:in|over|within|during|for) {{1,3}}the {{1,3}}last) {{1,3}}"
        rf"(?P<unit>day|week|month|quarter|year){RIGHT}",
        _past,
    ),
    (
        rf"{LEFT}(?:(?P<cue>on|last|past|previous|this|am|letzten|letzter|diesen|vorigen|vergangenen) {{1,3}}"
        rf"|(?<=since\s)|(?<=seit\s))(?P<wd>{any_of(_WEEKDAYS)}){RIGHT}"
        "(?! (?:mornings|afternoons|evenings|nights))",
        _weekday,
    ),
    (rf"{LEFT}{_NOT_THE_LATEST}(?P<wd>{_WEEKDAY})(?:(?='s\s)|(?= {{0,3}}[?.!]? {{0,3}}\Z))", _weekday),
    (
        rf"{LEFT}(?:on {{1,3}})?(?P<wd>{_WEEKDAY}) {{1,3}}(?:of\s)?(?P<cue>last|previous|this) {{1,3}}week{RIGHT}",
        _weekday_of_week,
    ),
    (
        rf"{LEFT}(?P<cue>last|previous|this) {{1,3}}week(?:'s)? {{1,3}}(?:on {{1,3}})?(?P<wd>{_WEEKDAY}){RIGHT}",
        _weekday_of_week,
    ),
    (
        rf"{LEFT}(?:between|from) {{1,3}}(?:last {{1,3}})?(?P<from>{_WEEKDAY}) {{1,3}}(?:and|to|through|until|till)"
        rf" {{1,3}}(?P<wd>{_WEEKDAY}){RIGHT}",
        _weekday_range,
    ),
    (
        rf"{LEFT}(?P<cue>last|past|previous|this|over the|on the|at the|during the|letztes|dieses|am|vergangenes)"
        rf" {{1,3}}(?:weekend|wochenende){RIGHT}",
        _weekend,
    ),
)
"""All of them."""
