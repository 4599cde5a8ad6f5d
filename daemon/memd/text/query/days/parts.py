"""The parts a written date is made of, in any language, and the days they name together."""

from __future__ import annotations

import datetime
import re

from memd.text.query.days.units import Days, Unit, around
from memd.text.query.days.words import MONTHS, YEARS_BACK

_DIGITS = {sign: number for number, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_TENS = {"十": 10, "廿": 20, "卅": 30}
# Most years between two leap days: a century that is none stands between them.
_LEAP_YEARS_APART = 8


def number_of(said: str) -> int:
    """Return the number that digits, the name of a month or Han numerals say."""
    if said.isdigit() and said.isascii():
        return int(said)
    if said in MONTHS:
        return MONTHS[said]
    if not _TENS.keys() & set(said):
        return int("".join(str(_DIGITS.get(sign, sign)) for sign in said))
    place = next(at for at, sign in enumerate(said) if sign in _TENS)
    tens = _TENS[said[place]] * (_DIGITS[said[:place]] if place else 1)
    return tens + (_DIGITS[said[place + 1 :]] if said[place + 1 :] else 0)


def read_parts(match: re.Match[str], today: datetime.date) -> Days:
    """Return the days of a date. What stands without a year is the latest that has begun."""
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
        return around("week", datetime.date.fromisocalendar(year, numbers["w"], 1))
    month = numbers["q"] * 3 - 2 if "q" in numbers else numbers.get("m", 1)
    year = today.year - (month > today.month) if year is None else year
    unit: Unit = "quarter" if "q" in numbers else "month" if "m" in numbers else "year"
    return around(unit, datetime.date(year, month, 1))


def _days(year: int | None, month: int, first: int, last: int, today: datetime.date) -> Days:
    """Return days of one month."""
    end = _latest_day(month, last, today) if year is None else datetime.date(year, month, last)
    begin = end.replace(day=first)
    if begin > end:
        raise ValueError("ends before it begins")
    return begin, end


def _latest_day(month: int, day: int, today: datetime.date) -> datetime.date:
    """Return the latest day of that month and number that isn't after today."""
    for year in range(today.year, max(today.year - _LEAP_YEARS_APART, 1) - 1, -1):
        try:
            date = datetime.date(year, month, day)
        except ValueError:
            continue
        if date <= today:
            return date
    raise ValueError("no such day")
