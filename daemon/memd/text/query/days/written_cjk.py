"""How days are written and said in Chinese, Japanese and Korean."""

from __future__ import annotations

import datetime
import re

from memd.text.query.days.parts import number_of, read_parts
from memd.text.query.days.patterns import YEAR, Form, any_of
from memd.text.query.days.units import ONE_DAY, Days, Unit, around, latest_weekday, rolling, units_back
from memd.text.query.days.words import CJK_PHRASES, YEARS_BACK

_UNIT_WORDS: dict[Unit, str] = {
    "day": "天 日 일",
    "week": "周 周间 星期 个星期 礼拜 个礼拜 주 주일",
    "month": "个月 ヶ月 ヵ月 か月 カ月 箇月 개월 달",
    "year": "年 년",
}
_UNITS = {word: unit for unit, words in _UNIT_WORDS.items() for word in words.split()}
_WEEKDAYS = {sign: number for number, sign in enumerate("一二三四五六日", 1)} | {"天": 7}
_HALVES: dict[Unit, tuple[Unit, int]] = {"year": ("month", 6), "month": ("week", 2)}

_NUMBER = "(?:[0-9]{1,2}(?![0-9])|[一二三四五六七八九十廿卅]{1,3})"
_START = "(?<![0-9〇零一二两三四五六七八九十廿卅])"
_FULL_YEAR = rf"{YEAR}|[12二一][0〇零九][〇零一二三四五六七八九]{{2}}"
_OF_YEAR = rf"(?:(?:(?P<y>{_FULL_YEAR}|[0-9]{{2}})\s?[年년]|(?P<that>{any_of(YEARS_BACK)}))[的の]?\s?)"
_MONTH = rf"(?P<m>{_NUMBER})\s?[月월]"
_UNIT = rf"(?P<unit>{any_of(_UNITS)})"
# Korean ones with a space or without.
_PHRASE = (
    any_of(CJK_PHRASES).replace("이번", r"이번\s?").replace("지난", r"지난\s?").replace("저번", r"저번\s?")
)
_COUNT = r"(?P<n>[0-9]{1,3}(?![0-9])|[一二两三四五六七八九十]{1,3}|几|数|몇|半)\s?"


def _day_of_that_month(match: re.Match[str], today: datetime.date) -> Days:
    """Read `上个月8号`."""
    month = units_back(*CJK_PHRASES[match["month"]], today)[0]
    return around("day", month.replace(day=number_of(match["d"])))


def _phrase(match: re.Match[str], today: datetime.date) -> Days:
    """Read `前天`, `上个月`, `지난 주`."""
    return units_back(*CJK_PHRASES["".join(match[0].split())], today)


def _counted(match: re.Match[str]) -> tuple[Unit, int | None]:
    """Return unit and number of a turn of phrase; halves in the next smaller unit, None for a few."""
    unit = _UNITS[match["unit"]]
    if match["n"] == "半":
        return _HALVES[unit]
    return unit, None if match["n"] in "几数몇" else number_of(match["n"])


def _ago(match: re.Match[str], today: datetime.date) -> Days:
    """Read `3天前`, `两周前`, `几天前`."""
    return units_back(*_counted(match), today)


def _past(match: re.Match[str], today: datetime.date) -> Days:
    """Read `最近三天`, `过去两周`."""
    return rolling(*_counted(match), today)


def _weekday(match: re.Match[str], today: datetime.date) -> Days:
    """Read `上周五`, `本周一`, and `周五`: the latest, today included."""
    week = match["week"]
    return latest_weekday(
        _WEEKDAYS[match["wd"]], units_back("week", week.count("上"), today)[1] if week else today
    )


def _weekend(match: re.Match[str], today: datetime.date) -> Days:
    """Read `上周末`, `这个周末`, and `周末`: the latest begun."""
    week = match["week"]
    sunday = units_back("week", int(week in "上先" if week else today.weekday() < 5), today)[1]
    return sunday - ONE_DAY, sunday


FORMS: tuple[Form, ...] = (
    (
        rf"{_START}{_OF_YEAR}?{_MONTH}\s?(?P<d>{_NUMBER})\s?(?:[日号일]|(?![0-9个天年月周点时人次件条位:]))"
        rf"(?:\s?(?:到|至|から|부터|-)\s?(?P<to>{_NUMBER})\s?[日号일])?",
        read_parts,
    ),
    (
        rf"(?P<month>上上个月|上个月|上月|本月|这个月|先月|今月)的?(?P<d>{_NUMBER})[日号]",
        _day_of_that_month,
    ),
    (rf"{_START}{_OF_YEAR}?{_MONTH}份?(?!初[一二三四五六七八九十]|曜)", read_parts),
    (rf"{_START}(?P<y>{_FULL_YEAR})\s?[年년](?![级级])", read_parts),
    (rf"{_OF_YEAR}?第?(?P<q>[1-4一二三四])(?:季度|四半期|分期|분기)", read_parts),
    # Some letters belong to their other neighbour: the first of `前天` in `以前天天`, the last of `本周` in `本周期`.
    (rf"(?!(?<=[以之目])前){_PHRASE}(?!(?<=周)[期年])", _phrase),
    (rf"{_START}{_COUNT}{_UNIT}(?:[之以]前|前(?![天年月面后端])|\s?전)", _ago),
    (rf"(?:过去|最近|近|这|直近|この|ここ|지난|최근)\s?的?{_COUNT}{_UNIT}(?!前)", _past),
    (
        "(?:(?P<week>上上|上|这|本)个?|(?<![每下个两几来]))(?:周|星期|礼拜)"
        "(?P<wd>[一二三四五六]|(?<!周)天|日(?![程常报记志]))(?![次回个天])",
        _weekday,
    ),
    ("(?:(?P<week>[上这本先今])个?|(?<![每下个两几来]))周末", _weekend),
)
"""All of them, for text in simplified letters and narrow digits."""
