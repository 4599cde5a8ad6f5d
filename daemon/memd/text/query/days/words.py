"""Words for days (`words.txt`), and shared parts of date patterns and readers."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from memd.text.data_files import read_sections
from memd.text.query.dates import DateUnit, DayRange, unit_around

_SECTIONS = read_sections(Path(__file__).with_suffix(".txt"))
_UNIT_NAMES: tuple[DateUnit, ...] = ("day", "week", "month", "quarter", "year")


def _numbered(rows: Iterable[str]) -> dict[str, int]:
    """Return the position of each name in its row, from 1."""
    return {name: number for row in rows for number, name in enumerate(row.split(), 1)}


def _meanings(kind: str, separator: str | None) -> dict[str, tuple[DateUnit, int]]:
    """Return the meaning of each expression: a unit, and how many units ago."""
    found: dict[str, tuple[DateUnit, int]] = {}
    for section, rows in _SECTIONS.items():
        unit, _, back = section.removeprefix(kind).partition("-")
        if section.startswith(kind) and unit in _UNIT_NAMES and back.isdigit():
            meant = unit, int(back)
            found |= {each.strip(): meant for row in rows for each in row.split(separator) if each.strip()}
    return found


ENGLISH_MONTHS = _numbered(_SECTIONS["months-en"]) | {"sept": 9}
MONTHS = (
    _numbered(_SECTIONS["months"])
    | {"jänner": 1, "maerz": 3, "fevrier": 2, "aout": 8, "decembre": 12}
    | ENGLISH_MONTHS
)
PLAIN_MONTHS = tuple(" ".join(_SECTIONS["plain-months"]).split())
ENGLISH_WEEKDAYS = _numbered(_SECTIONS["weekdays-en"])
GERMAN_WEEKDAYS = _numbered(_SECTIONS["weekdays-de"]) | {"sonnabend": 6}

UNITS: dict[str, DateUnit] = {
    word: unit for unit in _UNIT_NAMES for word in " ".join(_SECTIONS[f"unit-{unit}"]).split()
}
"""Words for units."""

NUMBERS = (
    _numbered(_SECTIONS["numbers"])
    | dict.fromkeys(" ".join(_SECTIONS["one"]).split(), 1)
    | dict.fromkeys(("couple", "couple of", "a couple", "a couple of"), 2)
)
"""Number words, including articles."""

FEW = tuple("; ".join(_SECTIONS["few"]).split("; "))
"""Expressions for an unknown small number."""

PHRASES = _meanings("", ";")
"""Expressions for the present and previous day, week, month, quarter and year."""

CJK_PHRASES = _meanings("cjk-", None)
"""The same in Chinese, Japanese and Korean, without spaces and in simplified characters."""

YEARS_BACK = {phrase: back for phrase, (unit, back) in CJK_PHRASES.items() if unit == "year"} | dict.fromkeys(
    ("明年", "来年", "내년"), -1
)
"""Relative years before a month: how many years ago each is."""

SIMPLIFIED = str.maketrans("週這個號禮後來兩間從過與幾", "周这个号礼后来两间从过与几")
"""Traditional characters in the words above, and their simplified forms."""

NARROW = str.maketrans("０１２３４５６７８９–—−〜～~’　", "0123456789------' ")
"""Wide digits, dashes, a curly apostrophe and a wide space, and their plain forms."""


DayReader = Callable[["re.Match[str]", datetime.date], DayRange]
"""Reads a match relative to today. Raises ValueError, LookupError or OverflowError if it is not a date."""

DayForm = tuple[str, DayReader]
"""A pattern and its reader. The pattern is for lower-case text with plain spaces. A group `it` is the part that names
the days; without it, the whole match. A group `capital` that matches `may` is a month only with a capital letter."""

LETTER = "0-9a-z_\xdf-\xff"
"""Letters of words and identifiers. Not CJK, since a date may touch those letters; nor letters beyond Latin-1, since
such a class is slow to compile: `find` checks them."""

LEFT = rf"(?<![{LETTER}])(?<![{LETTER}][-./\\@])"
"""Not inside a word or identifier: `POL-2026-05`, `v2026.5.8`."""

RIGHT = rf"(?![{LETTER}(])(?![-./@:][{LETTER}])"
"""Not followed by more of a word or identifier: `today.py`, `today()`."""

RIGHT_OF_DATE = rf"(?![{LETTER}])(?![./:][{LETTER}])(?!-[0-9])"
"""The same after a date, which another date may follow: `May 3-May 8`."""

WORD = r"[^\W\d_]{2,12}"
"""A word that its reader looks up: a pattern of all names would be slow to compile."""

YEAR = "(?:19[7-9]|20[0-9]|21[0-9])[0-9]"
"""A year that notes may be about."""


@cache
def cached_pattern(pattern: str) -> re.Pattern[str]:
    """Return a pattern, compiled on first use: most processes never search for days."""
    return re.compile(pattern)


def any_of(phrases: Iterable[str]) -> str:
    """Return a pattern for any of some phrases, longest first; a space matches up to three."""
    ordered = sorted(set(phrases), key=lambda phrase: (-len(phrase), phrase))
    return "(?:" + "|".join(ordered).replace(" ", " {1,3}") + ")"


_DIGITS = {sign: number for number, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_TENS = {"十": 10, "廿": 20, "卅": 30}
# Most years between two leap days, around a century that is not a leap year.
_LEAP_YEARS_APART = 8


def number_of(said: str) -> int:
    """Return the number of digits, a month's name or Han numerals."""
    if said.isdigit() and said.isascii():
        return int(said)
    if said in MONTHS:
        return MONTHS[said]
    if not _TENS.keys() & set(said):
        return int("".join(str(_DIGITS.get(sign, sign)) for sign in said))
    place = next(at for at, sign in enumerate(said) if sign in _TENS)
    tens = _TENS[said[place]] * (_DIGITS[said[:place]] if place else 1)
    return tens + (_DIGITS[said[place + 1 :]] if said[place + 1 :] else 0)


def read_parts(match: re.Match[str], today: datetime.date) -> DayRange:
    """Return the days of a date. Without a year it is the latest that has begun."""
    said = {part: text for part, text in match.groupdict().items() if text}
    numbers = {part: number_of(said[part]) for part in ("y", "q", "w", "m", "d", "to") if part in said}
    year = numbers.get("y")
    if year is not None and year < 100:
        year += 2000
    elif "that" in said:
        year = today.year - YEARS_BACK[said["that"]]
    if "d" in numbers:
        return _days(year, numbers["m"], numbers["d"], numbers.get("to", numbers["d"]), today)
    if "w" in numbers:
        present = today.isocalendar()
        year = present.year - (numbers["w"] > present.week) if year is None else year
        return unit_around("week", datetime.date.fromisocalendar(year, numbers["w"], 1))
    month = numbers["q"] * 3 - 2 if "q" in numbers else numbers.get("m", 1)
    year = today.year - (month > today.month) if year is None else year
    unit: DateUnit = "quarter" if "q" in numbers else "month" if "m" in numbers else "year"
    return unit_around(unit, datetime.date(year, month, 1))


def _days(year: int | None, month: int, first: int, last: int, today: datetime.date) -> DayRange:
    end = _latest_day(month, last, today) if year is None else datetime.date(year, month, last)
    begin = end.replace(day=first)
    if begin > end:
        raise ValueError("ends before it begins")
    return begin, end


def _latest_day(month: int, day: int, today: datetime.date) -> datetime.date:
    """Return the latest such day that is not after today."""
    for year in range(today.year, max(today.year - _LEAP_YEARS_APART, 1) - 1, -1):
        try:
            date = datetime.date(year, month, day)
        except ValueError:
            continue
        if date <= today:
            return date
    raise ValueError("no such day")
