"""Calendar arithmetic, and dates in the names of memory files."""

from __future__ import annotations

import datetime
import re
from functools import lru_cache
from typing import Literal

MIN_YEAR = 100
"""Lowest year of a date: smaller numbers have another meaning."""

_DATED = re.compile(r"(?:^|/)memory/(?:sessions/)?([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[^0-9/][^/]*)?\.md\Z")
_NAMED_BY_DAY = re.compile(r"(?:^|/)([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[^0-9/][^/]*)?\.md\Z")


def date_in_path(path: str) -> datetime.date | None:
    """Return the day of a daily note, `memory/YYYY-MM-DD.md`, also with a suffix or in `memory/sessions/`."""
    return _day(_DATED.search(_plain(path)))


@lru_cache(maxsize=4_096)
def day_of_note(path: str) -> datetime.date | None:
    """Return the day at the start of a Markdown file's name, in any folder.

    `date_in_path` finds the notes that decay, which are in `memory/` itself or in `memory/sessions/`.
    """
    return _day(_NAMED_BY_DAY.search(_plain(path)))


def _day(match: re.Match[str] | None) -> datetime.date | None:
    """Return the date of a match, or None if there is no such day."""
    if match is None or int(match[1]) < MIN_YEAR:
        return None
    try:
        return datetime.date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return None


def _plain(path: str) -> str:
    """Return a path with forward slashes and without a leading `./`."""
    return path.replace("\\", "/").removeprefix("./")


DayRange = tuple[datetime.date, datetime.date]
"""First and last day, both inclusive."""

DateUnit = Literal["day", "week", "month", "quarter", "year"]
"""A calendar unit."""

ONE_DAY = datetime.timedelta(1)

MIN_FEW, MAX_FEW = 2, 7
"""The range of `a few`."""

_DAYS = {"day": 1, "week": 7}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}


def unit_around(unit: DateUnit, day: datetime.date) -> DayRange:
    """Return the day, week, month, quarter or year that contains a day. Weeks begin on Monday."""
    if unit == "day":
        return day, day
    if unit == "week":
        monday = day - day.weekday() * ONE_DAY
        return monday, monday + 6 * ONE_DAY
    length = _MONTHS[unit]
    first = datetime.date(day.year, (day.month - 1) // length * length + 1, 1)
    return first, _months_later(first, length) - ONE_DAY


def unit_ago(unit: DateUnit, count: int | None, today: datetime.date) -> DayRange:
    """Return the day, week, month, quarter or year that was `count` units ago; None: a few."""
    if count is None:
        return unit_ago(unit, MAX_FEW, today)[0], unit_ago(unit, MIN_FEW, today)[1]
    if unit in _DAYS:
        return unit_around(unit, today - count * _DAYS[unit] * ONE_DAY)
    return unit_around(unit, _months_later(today.replace(day=1), -count * _MONTHS[unit]))


def last_units(unit: DateUnit, count: int | None, today: datetime.date) -> DayRange:
    """Return the last `count` units up to today; None: a few."""
    count = MAX_FEW if count is None else count
    if unit in _DAYS:
        return today - count * _DAYS[unit] * ONE_DAY, today
    first, last = unit_ago("month", count * _MONTHS[unit], today)
    return first.replace(day=min(today.day, last.day)), today


def latest_weekday(weekday: int, today: datetime.date) -> DayRange:
    """Return the latest day with that weekday, today included."""
    return unit_around("day", today - (today.isoweekday() - weekday) % 7 * ONE_DAY)


def _months_later(first: datetime.date, count: int) -> datetime.date:
    """Return the first day of the month `count` months later."""
    months = first.year * 12 + first.month - 1 + count
    return datetime.date(months // 12, months % 12 + 1, 1)
