"""Written forms of days: each is a pattern and a reader of its matches."""

from __future__ import annotations

import datetime
import re

from memd.text.query.dates import (
    ONE_DAY,
    DateUnit,
    DayRange,
    last_units,
    latest_weekday,
    unit_ago,
    unit_around,
)
from memd.text.query.days.words import (
    CJK_PHRASES,
    ENGLISH_MONTHS,
    ENGLISH_WEEKDAYS,
    FEW,
    GERMAN_WEEKDAYS,
    LEFT,
    LETTER,
    MONTHS,
    NUMBERS,
    PHRASES,
    PLAIN_MONTHS,
    RIGHT,
    RIGHT_OF_DATE,
    UNITS,
    WORD,
    YEAR,
    YEARS_BACK,
    DayForm,
    any_of,
    cached_pattern,
    number_of,
    read_parts,
)

_COUNTED_UNITS = rf"(?P<n>[0-9]{{1,4}}|a(?: couple(?: of)?| few)?|ein paar|{WORD}) {{1,3}}(?P<unit>{WORD})"
_LAST_CUES = (
    "last",
    "past",
    "previous",
    "letzten",
    "letzter",
    "letztes",
    "vorigen",
    "vergangenen",
    "vergangenes",
)
_PRESENT = ("this", "diesen", "dieses")
_WEEKDAYS = ENGLISH_WEEKDAYS | GERMAN_WEEKDAYS
_WEEKDAY = any_of(ENGLISH_WEEKDAYS)
# `hier` is German for `here` and French for `yesterday`: the other words decide.
_FRENCH = r"\b(?:est|sont|nous|avons|avez|quoi|que|qui|les?|la|des|je|il|elle|été|fait|dit|soir)\b|qu'"
# Repeating or future days.
_NOT_THE_LATEST = "".join(
    rf"(?<!{word}\s)" for word in ("every", "each", "next", "by", "until", "before", "after", "any")
)


def _phrase(match: re.Match[str], today: datetime.date) -> DayRange:
    """Read `last week`."""
    phrase = " ".join(match[0].split())
    if phrase == "hier" and cached_pattern(_FRENCH).search(match.string) is None:
        raise ValueError("not French")
    return unit_ago(*PHRASES[phrase], today)


def _count(match: re.Match[str]) -> int | None:
    """Return the number in a phrase: None for a few, 1 without a number."""
    said = match.groupdict().get("n")
    if said is None:
        return 1
    if said in FEW:
        return None
    return int(said) if said[0].isdigit() else NUMBERS[said]


def _ago(match: re.Match[str], today: datetime.date) -> DayRange:
    """Read `two weeks ago` (the whole week) and `a few days ago` (all days it may mean)."""
    return unit_ago(UNITS[match["unit"]], _count(match), today)


def _past(match: re.Match[str], today: datetime.date) -> DayRange:
    """Read `the past three days`, `the past week`."""
    return last_units(UNITS[match["unit"]], _count(match), today)


def _weekday(match: re.Match[str], today: datetime.date) -> DayRange:
    """Read `on Monday`, `this Monday`, and `last Monday`, which is not today."""
    cue = match.groupdict().get("cue")
    if cue in _PRESENT:
        today = unit_ago("week", 0, today)[1]
    elif cue in _LAST_CUES:
        today -= ONE_DAY
    return latest_weekday(_WEEKDAYS[match["wd"]], today)


def _weekday_of_week(match: re.Match[str], today: datetime.date) -> DayRange:
    """Read `Monday last week`."""
    week = unit_ago("week", int(match["cue"] not in _PRESENT), today)
    return latest_weekday(_WEEKDAYS[match["wd"]], week[1])


def _weekday_range(match: re.Match[str], today: datetime.date) -> DayRange:
    """Read `between Monday and Wednesday`."""
    end = latest_weekday(_WEEKDAYS[match["wd"]], today)[1]
    return latest_weekday(_WEEKDAYS[match["from"]], end)[0], end


def _weekend(match: re.Match[str], today: datetime.date) -> DayRange:
    """Read `last weekend` (of last week), `this weekend` (of this week) and `on the weekend` (the latest)."""
    cue = match["cue"]
    back = int(cue in _LAST_CUES or (cue not in _PRESENT and today.weekday() < 5))
    sunday = unit_ago("week", back, today)[1]
    return sunday - ONE_DAY, sunday


_EXPRESSIONS: tuple[DayForm, ...] = (
    (rf"{LEFT}{any_of(PHRASES)}{RIGHT}", _phrase),
    (rf"{LEFT}{_COUNTED_UNITS} {{1,3}}(?:ago|fa|atrás|назад){RIGHT}", _ago),
    (rf"{LEFT}(?P<unit>день|неделю|месяц|год) {{1,3}}назад{RIGHT}", _ago),
    (rf"{LEFT}(?:vor|il y a|hace|há) {{1,3}}{_COUNTED_UNITS}{RIGHT}", _ago),
    (
        rf"{LEFT}(?=(?P<it>(?:last|past|previous|letzten|vergangenen|últimos|últimas|ultimi|ultime|последние|seit|за)"
        rf" {{1,3}}{_COUNTED_UNITS}{RIGHT}))",
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


_ENGLISH = any_of(ENGLISH_MONTHS)
_Y, _Q = rf"(?P<y>{YEAR})", "(?P<q>[1-4])"
_OF_YEAR = rf"(?:(?:,? {{1,3}}(?:de\s|del\s|of\s)?|-){_Y}(?![0-9]))"
_D, _M = "(?P<d>[0-3]?[0-9])", "(?P<m>[01]?[0-9])"
_DAY = rf"{_D}(?![0-9])"
_UP_TO = r"(?: {0,3}- {0,3}| {1,3}(?:to|through|thru|until|till|bis|al?|au) {1,3})"
_AND = r" {1,3}(?:and|und|et|y|e|и) {1,3}(?:the |dem |le |el |il )?"
_BETWEEN = r"(?P<between>(?:between|zwischen|entre|tra|fra|между) {1,3}(?:the\s|dem\s|le\s|el\s|il\s)?)?"
# A month may directly follow another day: `May 3-May 8`.
_LEFT_OF_MONTH = rf"(?<![{LETTER}])(?<![a-z_][-./\\@])"
# The verb `may`, not the month.
_NO_VERB = "".join(rf"(?<!\b{who}\s)" for who in ("you", "we", "i", "it", "they", "he", "that", "which"))
_TH = "(?:st|nd|rd|th)"
_ORDINAL = r"(?:st|nd|rd|th|er|º|°|ª|\.)"
# The last of several days; required after `between`.
_LAST = rf"(?:(?(between){_AND}|{_UP_TO})(?P<to>[0-3]?[0-9])(?![0-9]){_ORDINAL}?)?(?(between)(?(to)|(?!)))"
_OF = r"(?:(?:of|de|di) {1,3})?"
_CUE = (
    "(?P<cue>in|of|last|past|previous|(?P<this>this)|since|before|after|until|till|during|through|throughout|early"
    "|late|mid|prior to|im|en|em|nel|seit|depuis|desde|dal|da|de|del|di|letzten|ende|anfang|mitte|bis|vor|nach|avant"
    r"|après|antes de|hasta|até|fino a|в|с|за|до|после|конце|начале)(?: {1,3}(?:the\s)?|-)"
)
_YEAR_CUE = (
    "(?:in|of|during|since|before|after|until|till|from|throughout|year|prior to|late|early|mid|im jahre?|jahr|seit"
    "|année|en|em|nel|depuis|desde|dal|vor|nach|bis|avant|après|hasta|até|в|с|до|после|за)"
)
# Words with another meaning: a planet, an abbreviation.
_NO_MONTHS = {("in", "mars"), ("of", "mars"), ("in", "mar"), ("in", "sep")}
# Counted things: the number before them is not a year.
_NO_THINGS = (
    r"(?! {1,3}(?:ms|milliseconds|seconds|minutes|hours|days|steps|lines|words|tokens|characters|chars|files|rows"
    r"|requests|bytes|kb|mb|gb|km|m|meters|metres|miles|dollars|euros|pieces|places|percent|users|entries|items"
    r"|notes|chunks|times|people|samples|calls|queries)\b|\s?[%€$°])"
)
_NO_DAY = r"(?!\.? {1,3}[0-9]{1,2}(?![0-9])(?! {1,3}[a-z]{2}))"


def _day_of_some_month(match: re.Match[str], today: datetime.date) -> DayRange:
    """Read `on the 8th`: the latest such day."""
    for back in range(3):
        first, last = unit_ago("month", back, today)
        day = int(match["d"])
        if day <= last.day and first.replace(day=day) <= today:
            return unit_around("day", first.replace(day=day))
    raise ValueError("no such day")


def _cued_month(match: re.Match[str], today: datetime.date) -> DayRange:
    """Read `in May`, `this May`, and `last May`, which is not the present month."""
    name, cue = match["it"], match["cue"]
    if (cue, name) in _NO_MONTHS:
        raise ValueError("not that month")
    month = MONTHS[name]
    not_yet = month + (cue in ("last", "past", "previous", "letzten")) > today.month
    return unit_around("month", datetime.date(today.year - (cue != "this" and not_yet), month, 1))


def _months(match: re.Match[str], today: datetime.date) -> DayRange:
    """Read `between May and July`, with or without years."""
    begin, last = MONTHS[match["from"]], read_parts(match, today)[1]
    year = int(match["from_year"] or last.year - (begin > last.month))
    return datetime.date(year, begin, 1), last


_DATES = (
    # Files named by day: only here may a slash precede the date.
    rf"(?<![0-9a-z_])(?<![0-9a-z_][-.@\\]){_Y}-{_M}-{_D}(?=t[0-9]|(?![0-9a-z_])(?![-/.][0-9]))",
    rf"{LEFT}{_Y}/{_M}/{_D}{RIGHT}",
    rf"{LEFT}{_Y}[-/](?P<m>[01][0-9]){RIGHT}",
    rf"{LEFT}{_Y}-?w(?P<w>[0-5][0-9]){RIGHT}",
    rf"{LEFT}(?:kw|calendar {{1,3}}week) {{0,3}}(?P<w>[0-5]?[0-9]){RIGHT}",
    # Month first, unless only day first is a date.
    rf"{LEFT}(?P<m>0?[1-9]|1[0-2])/{_D}/(?P<y>{YEAR}|[0-9]{{2}}){RIGHT}",
    rf"{LEFT}(?P<d>1[3-9]|[23][0-9])/{_M}/(?P<y>{YEAR}|[0-9]{{2}}){RIGHT}",
    rf"{LEFT}{_D}\.\s?{_M}\.\s?{_Y}{RIGHT}",
    rf"{LEFT}(?:am|vom|zum|dem|bis|seit|ab) {{1,3}}(?P<it>{_D}\.\s?{_M}\.)(?!\s?[0-9])",
    # `May 8`, `May the 8th, 2026`, `May 3-8`, `between May 3 and 8`.
    rf"{_LEFT_OF_MONTH}{_NO_VERB}{_BETWEEN}(?P<m>{_ENGLISH})\.? {{1,3}}(?:the\s)?{_DAY}{_TH}?"
    rf"{_LAST}{_OF_YEAR}?{RIGHT_OF_DATE}",
    # `8 May`, `am 8. Mai 2026`, `du 3 au 8 mai`.
    rf"{LEFT}{_BETWEEN}{_DAY}{_ORDINAL}?{_LAST}(?: {{1,3}}|-){_OF}(?P<m>(?P<capital>{WORD}))"
    rf"(?:\.?{_OF_YEAR})?{RIGHT_OF_DATE}",
    # The same in lower case, if unambiguous.
    rf"{LEFT}{_DAY}(?P<sure>{_TH}?(?: {{1,3}}of)|{_TH})? {{1,3}}(?P<m>may)(?:{_OF_YEAR}|(?(sure)|(?!))){RIGHT_OF_DATE}",
    rf"{LEFT}(?P<m>{WORD})\.?{_OF_YEAR}{RIGHT_OF_DATE}",
    rf"{LEFT}(?<!next )(?P<m>{any_of(PLAIN_MONTHS)}){RIGHT_OF_DATE}",
    rf"{LEFT}(?:{_YEAR_CUE}) {{1,3}}(?P<it>{_Y}){RIGHT_OF_DATE}{_NO_THINGS}",
    rf"{LEFT}[qt]{_Q}(?: {{1,3}}(?:of\s)?|[-/]){_Y}{RIGHT}",
    rf"{LEFT}{_Y}[\s-]?q{_Q}{RIGHT}",
    rf"{LEFT}(?:in|of|during|since|before|after|until|last|this|im|seit) {{1,3}}(?P<it>q{_Q}){RIGHT}",
)
"""Patterns read by their parts alone."""

_WRITTEN: tuple[DayForm, ...] = (
    (rf"{LEFT}on {{1,3}}the {{1,3}}{_DAY}{_TH}(?= {{0,3}}(?:[?.!,]|\Z))", _day_of_some_month),
    (
        rf"{LEFT}(?P<between>between {{1,3}})?(?P<from>{_ENGLISH})(?: {{1,3}}(?P<from_year>{YEAR}))?"
        rf"(?:{_UP_TO}|(?(between) {{1,3}}and {{1,3}}|(?!)))(?P<m>{_ENGLISH}){_OF_YEAR}?{RIGHT_OF_DATE}{_NO_DAY}",
        _months,
    ),
    (rf"{LEFT}{_CUE}(?=(?P<it>(?(this)(?P<capital>{WORD})|{WORD})){RIGHT_OF_DATE}{_NO_DAY})", _cued_month),
    *((pattern, read_parts) for pattern in _DATES),
)


_UNIT_WORDS: dict[DateUnit, str] = {
    "day": "天 日 일",
    "week": "周 周间 星期 个星期 礼拜 个礼拜 주 주일",
    "month": "个月 ヶ月 ヵ月 か月 カ月 箇月 개월 달",
    "year": "年 년",
}
_CJK_UNITS = {word: unit for unit, words in _UNIT_WORDS.items() for word in words.split()}
_CJK_WEEKDAYS = {sign: number for number, sign in enumerate("一二三四五六日", 1)} | {"天": 7}
_HALVES: dict[DateUnit, tuple[DateUnit, int]] = {"year": ("month", 6), "month": ("week", 2)}

_NUMBER = "(?:[0-9]{1,2}(?![0-9])|[一二三四五六七八九十廿卅]{1,3})"
_START = "(?<![0-9〇零一二两三四五六七八九十廿卅])"
_FULL_YEAR = rf"{YEAR}|[12二一][0〇零九][〇零一二三四五六七八九]{{2}}"
_CJK_OF_YEAR = rf"(?:(?:(?P<y>{_FULL_YEAR}|[0-9]{{2}})\s?[年년]|(?P<that>{any_of(YEARS_BACK)}))[的の]?\s?)"
_MONTH = rf"(?P<m>{_NUMBER})\s?[月월]"
_UNIT = rf"(?P<unit>{any_of(_CJK_UNITS)})"
# Korean phrases with or without a space.
_PHRASE = (
    any_of(CJK_PHRASES).replace("이번", r"이번\s?").replace("지난", r"지난\s?").replace("저번", r"저번\s?")
)
_COUNT = r"(?P<n>[0-9]{1,3}(?![0-9])|[一二两三四五六七八九十]{1,3}|几|数|몇|半)\s?"


def _day_of_that_month(match: re.Match[str], today: datetime.date) -> DayRange:
    """Read `上个月8号`."""
    month = unit_ago(*CJK_PHRASES[match["month"]], today)[0]
    return unit_around("day", month.replace(day=number_of(match["d"])))


def _cjk_phrase(match: re.Match[str], today: datetime.date) -> DayRange:
    """Read `前天`, `上个月`, `지난 주`."""
    return unit_ago(*CJK_PHRASES["".join(match[0].split())], today)


def _cjk_count(match: re.Match[str]) -> tuple[DateUnit, int | None]:
    """Return unit and number of a phrase; halves in the next smaller unit, None for a few."""
    unit = _CJK_UNITS[match["unit"]]
    if match["n"] == "半":
        return _HALVES[unit]
    return unit, None if match["n"] in "几数몇" else number_of(match["n"])


def _cjk_ago(match: re.Match[str], today: datetime.date) -> DayRange:
    """Read `3天前`, `两周前`, `几天前`."""
    return unit_ago(*_cjk_count(match), today)


def _cjk_past(match: re.Match[str], today: datetime.date) -> DayRange:
    """Read `最近三天`, `过去两周`."""
    return last_units(*_cjk_count(match), today)


def _cjk_weekday(match: re.Match[str], today: datetime.date) -> DayRange:
    """Read `上周五`, `本周一`, and `周五`: the latest, today included."""
    week = match["week"]
    return latest_weekday(
        _CJK_WEEKDAYS[match["wd"]], unit_ago("week", week.count("上"), today)[1] if week else today
    )


def _cjk_weekend(match: re.Match[str], today: datetime.date) -> DayRange:
    """Read `上周末`, `这个周末`, and `周末`: the latest."""
    week = match["week"]
    sunday = unit_ago("week", int(week in "上先" if week else today.weekday() < 5), today)[1]
    return sunday - ONE_DAY, sunday


_CJK: tuple[DayForm, ...] = (
    (
        rf"{_START}{_CJK_OF_YEAR}?{_MONTH}\s?(?P<d>{_NUMBER})\s?(?:[日号일]|(?![0-9个天年月周点时人次件条位:]))"
        rf"(?:\s?(?:到|至|から|부터|-)\s?(?P<to>{_NUMBER})\s?[日号일])?",
        read_parts,
    ),
    (
        rf"(?P<month>上上个月|上个月|上月|本月|这个月|先月|今月)的?(?P<d>{_NUMBER})[日号]",
        _day_of_that_month,
    ),
    (rf"{_START}{_CJK_OF_YEAR}?{_MONTH}份?(?!初[一二三四五六七八九十]|曜)", read_parts),
    (rf"{_START}(?P<y>{_FULL_YEAR})\s?[年년](?![级级])", read_parts),
    (rf"{_CJK_OF_YEAR}?第?(?P<q>[1-4一二三四])(?:季度|四半期|分期|분기)", read_parts),
    # Some letters belong to a neighbour: the first of `前天` in `以前天天`, the last of `本周` in `本周期`.
    (rf"(?!(?<=[以之目])前){_PHRASE}(?!(?<=周)[期年])", _cjk_phrase),
    (rf"{_START}{_COUNT}{_UNIT}(?:[之以]前|前(?![天年月面后端])|\s?전)", _cjk_ago),
    (rf"(?:过去|最近|近|这|直近|この|ここ|지난|최근)\s?的?{_COUNT}{_UNIT}(?!前)", _cjk_past),
    (
        "(?:(?P<week>上上|上|这|本)个?|(?<![每下个两几来]))(?:周|星期|礼拜)"
        "(?P<wd>[一二三四五六]|(?<!周)天|日(?![程常报记志]))(?![次回个天])",
        _cjk_weekday,
    ),
    ("(?:(?P<week>[上这本先今])个?|(?<![每下个两几来]))周末", _cjk_weekend),
)
LATIN_FORMS: tuple[DayForm, ...] = (*_WRITTEN, *_EXPRESSIONS)
"""Forms in Latin and Cyrillic letters. At one place the longer match wins, of equal ones the first."""

FORMS: tuple[DayForm, ...] = (*LATIN_FORMS, *_CJK)
"""All forms, for text in simplified characters and narrow digits."""
