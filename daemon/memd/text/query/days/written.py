"""How days, months, quarters and years are written in Latin and Cyrillic letters."""

from __future__ import annotations

import datetime
import re

from memd.text.query.days.parts import read_parts
from memd.text.query.days.patterns import LEFT, LETTER, RIGHT, RIGHT_OF_DATE, WORD, YEAR, Form, any_of
from memd.text.query.days.units import Days, around, units_back
from memd.text.query.days.words import ENGLISH_MONTHS, MONTHS, PLAIN_MONTHS

_ENGLISH = any_of(ENGLISH_MONTHS)
_Y, _Q = rf"(?P<y>{YEAR})", "(?P<q>[1-4])"
_OF_YEAR = rf"(?:(?:,? {{1,3}}(?:de\s|del\s|of\s)?|-){_Y}(?![0-9]))"
_D, _M = "(?P<d>[0-3]?[0-9])", "(?P<m>[01]?[0-9])"
_DAY = rf"{_D}(?![0-9])"
_TO = r"(?: {0,3}- {0,3}| {1,3}(?:to|through|thru|until|till|bis|al?|au) {1,3})"
_AND = r" {1,3}(?:and|und|et|y|e|и) {1,3}(?:the |dem |le |el |il )?"
_BETWEEN = r"(?P<between>(?:between|zwischen|entre|tra|fra|между) {1,3}(?:the\s|dem\s|le\s|el\s|il\s)?)?"
# A month may stand right behind another day: `May 3-May 8`.
_LEFT_OF_MONTH = rf"(?<![{LETTER}])(?<![a-z_][-./\\@])"
# The verb, not the month.
_NO_VERB = "".join(rf"(?<!\b{who}\s)" for who in ("you", "we", "i", "it", "they", "he", "that", "which"))
_TH = "(?:st|nd|rd|th)"
_ORDINAL = r"(?:st|nd|rd|th|er|º|°|ª|\.)"
# The last of several days; what begins with `between` isn't done without it.
_LAST = rf"(?:(?(between){_AND}|{_TO})(?P<to>[0-3]?[0-9])(?![0-9]){_ORDINAL}?)?(?(between)(?(to)|(?!)))"
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
# What else it is: a planet, a short word.
_NO_MONTHS = {("in", "mars"), ("of", "mars"), ("in", "mar"), ("in", "sep")}
# What is counted, so that the number before it is no year.
_NO_THINGS = (
    r"(?! {1,3}(?:ms|milliseconds|seconds|minutes|hours|days|steps|lines|words|tokens|characters|chars|files|rows"
    r"|requests|bytes|kb|mb|gb|km|m|meters|metres|miles|dollars|euros|pieces|places|percent|users|entries|items"
    r"|notes|chunks|times|people|samples|calls|queries)\b|\s?[%€$°])"
)
_NO_DAY = r"(?!\.? {1,3}[0-9]{1,2}(?![0-9])(?! {1,3}[a-z]{2}))"


def _day_of_some_month(match: re.Match[str], today: datetime.date) -> Days:
    """Read `on the 8th`: the latest day of that number."""
    for back in range(3):
        first, last = units_back("month", back, today)
        day = int(match["d"])
        if day <= last.day and first.replace(day=day) <= today:
            return around("day", first.replace(day=day))
    raise ValueError("no such day")


def _cued_month(match: re.Match[str], today: datetime.date) -> Days:
    """Read `in May`, `this May`, and `last May`, which isn't the present month."""
    name, cue = match["it"], match["cue"]
    if (cue, name) in _NO_MONTHS:
        raise ValueError("not that month")
    month = MONTHS[name]
    not_yet = month + (cue in ("last", "past", "previous", "letzten")) > today.month
    return around("month", datetime.date(today.year - (cue != "this" and not_yet), month, 1))


def _months(match: re.Match[str], today: datetime.date) -> Days:
    """Read `between May and July`, with years or without."""
    begin, last = MONTHS[match["from"]], read_parts(match, today)[1]
    year = int(match["from_year"] or last.year - (begin > last.month))
    return datetime.date(year, begin, 1), last


_DATES = (
    # A file may be named by its day, wherever it lies: only here a slash in front joins nothing.
    rf"(?<![0-9a-z_])(?<![0-9a-z_][-.@\\]){_Y}-{_M}-{_D}(?=t[0-9]|(?![0-9a-z_])(?![-/.][0-9]))",
    rf"{LEFT}{_Y}/{_M}/{_D}{RIGHT}",
    rf"{LEFT}{_Y}[-/](?P<m>[01][0-9]){RIGHT}",
    rf"{LEFT}{_Y}-?w(?P<w>[0-5][0-9]){RIGHT}",
    rf"{LEFT}(?:kw|calendar {{1,3}}week) {{0,3}}(?P<w>[0-5]?[0-9]){RIGHT}",
    # The month first, unless only the other way makes a date.
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
    # The same in small letters, where nothing else can be meant.
    rf"{LEFT}{_DAY}(?P<sure>{_TH}?(?: {{1,3}}of)|{_TH})? {{1,3}}(?P<m>may)(?:{_OF_YEAR}|(?(sure)|(?!))){RIGHT_OF_DATE}",
    rf"{LEFT}(?P<m>{WORD})\.?{_OF_YEAR}{RIGHT_OF_DATE}",
    rf"{LEFT}(?<!next )(?P<m>{any_of(PLAIN_MONTHS)}){RIGHT_OF_DATE}",
    rf"{LEFT}(?:{_YEAR_CUE}) {{1,3}}(?P<it>{_Y}){RIGHT_OF_DATE}{_NO_THINGS}",
    rf"{LEFT}[qt]{_Q}(?: {{1,3}}(?:of\s)?|[-/]){_Y}{RIGHT}",
    rf"{LEFT}{_Y}[\s-]?q{_Q}{RIGHT}",
    rf"{LEFT}(?:in|of|during|since|before|after|until|last|this|im|seit) {{1,3}}(?P<it>q{_Q}){RIGHT}",
)
"""What is read by its parts alone."""

FORMS: tuple[Form, ...] = (
    (rf"{LEFT}on {{1,3}}the {{1,3}}{_DAY}{_TH}(?= {{0,3}}(?:[?.!,]|\Z))", _day_of_some_month),
    (
        rf"{LEFT}(?P<between>between {{1,3}})?(?P<from>{_ENGLISH})(?: {{1,3}}(?P<from_year>{YEAR}))?"
        rf"(?:{_TO}|(?(between) {{1,3}}and {{1,3}}|(?!)))(?P<m>{_ENGLISH}){_OF_YEAR}?{RIGHT_OF_DATE}{_NO_DAY}",
        _months,
    ),
    (rf"{LEFT}{_CUE}(?=(?P<it>(?(this)(?P<capital>{WORD})|{WORD})){RIGHT_OF_DATE}{_NO_DAY})", _cued_month),
    *((pattern, read_parts) for pattern in _DATES),
)
"""All of them. Where two match from one place on, the longer one counts; of equal ones the first."""
