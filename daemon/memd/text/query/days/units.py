"""Days, weeks, months, quarters and years as their first and last day."""

from __future__ import annotations

import datetime
from typing import Literal

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
