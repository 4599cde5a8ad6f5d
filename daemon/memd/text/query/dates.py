"""Dates: calendar arithmetic, and dates in the names of memory files."""

from __future__ import annotations

import datetime
import re
from typing import Literal

OLDEST_YEAR = 100
"""Years below this are no dates: two digits meant something else."""

_DATED = re.compile(r"(?:^|/)memory/([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[^0-9/][^/]*)?\.md\Z")
_NAMED_BY_DAY = re.compile(r"(?:^|/)([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[^0-9/][^/]*)?\.md\Z")


def date_in_path(path: str) -> datetime.date | None:
    """Return the day a memory file is about: `memory/YYYY-MM-DD.md`, or with more behind the day."""
    return _day(_DATED.search(_plain(path)))


def day_of_note(path: str) -> datetime.date | None:
    """Return the day any Markdown file is about whose name begins with one, wherever it lies.

    `date_in_path` says which notes fade, and those lie in `memory/` itself; what a note is about doesn't depend on
    its folder.
    """
    return _day(_NAMED_BY_DAY.search(_plain(path)))


def _day(match: re.Match[str] | None) -> datetime.date | None:
    """Return the date of a matched name, or None if there is no such day."""
    if match is None or int(match[1]) < OLDEST_YEAR:
        return None
    try:
        return datetime.date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return None


def _plain(path: str) -> str:
    """Return a path with slashes only and without a leading dot folder."""
    return path.replace("\\", "/").removeprefix("./")


Days = tuple[datetime.date, datetime.date]
"""A first and a last day, both inclusive."""

Unit = Literal["day", "week", "month", "quarter", "year"]
"""What one counts days in."""

ONE_DAY = datetime.timedelta(1)

FEWEST, MOST = 2, 7
"""How many `a few` are."""

_DAYS = {"day": 1, "week": 7}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}


def around(unit: Unit, day: datetime.date) -> Days:
    """Return the day, week, month, quarter or year that a day is in. Weeks begin on Monday."""
    if unit == "day":
        return day, day
    if unit == "week":
        monday = day - day.weekday() * ONE_DAY
        return monday, monday + 6 * ONE_DAY
    length = _MONTHS[unit]
    first = datetime.date(day.year, (day.month - 1) // length * length + 1, 1)
    return first, _months_later(first, length) - ONE_DAY


def units_back(unit: Unit, count: int | None, today: datetime.date) -> Days:
    """Return the day, week, month, quarter or year that is some of them before the present one."""
    if count is None:
        return units_back(unit, MOST, today)[0], units_back(unit, FEWEST, today)[1]
    if unit in _DAYS:
        return around(unit, today - count * _DAYS[unit] * ONE_DAY)
    return around(unit, _months_later(today.replace(day=1), -count * _MONTHS[unit]))


def rolling(unit: Unit, count: int | None, today: datetime.date) -> Days:
    """Return the last few days, weeks, months, quarters or years, up to today."""
    count = MOST if count is None else count
    if unit in _DAYS:
        return today - count * _DAYS[unit] * ONE_DAY, today
    first, last = units_back("month", count * _MONTHS[unit], today)
    return first.replace(day=min(today.day, last.day)), today


def latest_weekday(weekday: int, today: datetime.date) -> Days:
    """Return the latest day of that name, today included."""
    return around("day", today - (today.isoweekday() - weekday) % 7 * ONE_DAY)


def _months_later(first: datetime.date, count: int) -> datetime.date:
    """Return the first of the month that is so many months after a first of a month."""
    months = first.year * 12 + first.month - 1 + count
    return datetime.date(months // 12, months % 12 + 1, 1)
