"""What the writings of days are built from: their shape, and where a word or a date begins and ends."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable
from functools import cache

from memd.text.query.days.units import Days

Reader = Callable[["re.Match[str]", datetime.date], Days]
"""Reads what a pattern matched, seen from a present day. Raises ValueError, LookupError or OverflowError where
it is no date."""

Form = tuple[str, Reader]
"""A writing and its reader. The pattern is for text in lower case with plain spaces. A group `it` is the part that
names the days, without one the whole match does; a group `capital` is a word that, being `may`, is a month only with
a capital letter."""

LETTER = "0-9a-z_\xdf-\xff"
"""What words and identifiers are of. Not CJK, since a date may touch those letters; nor what lies between: a class
beyond Latin-1 takes a hundred times as long to build, so `find` looks at that itself."""

LEFT = rf"(?<![{LETTER}])(?<![{LETTER}][-./\\@])"
"""Not inside a word, nor behind the sign that joins an identifier: `POL-2026-05`, `v2026.5.8`."""

RIGHT = rf"(?![{LETTER}(])(?![-./@:][{LETTER}])"
"""Not before more of a word or an identifier: `today.py`, `today()`."""

RIGHT_OF_DATE = rf"(?![{LETTER}])(?![./:][{LETTER}])(?!-[0-9])"
"""The same behind a date, which another date may follow: `May 3-May 8`."""

WORD = r"[^\W\d_]{2,12}"
"""A word that its reader looks up. Patterns of all names there are would take longer to build than all else."""

YEAR = "(?:19[7-9]|20[0-9]|21[0-9])[0-9]"
"""A year memory may be about."""


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern, built when it is first needed: most processes are never asked about days."""
    return re.compile(pattern)


def any_of(phrases: Iterable[str]) -> str:
    """Return a pattern for any of some turns of phrase, the longest first, with up to three spaces for one."""
    ordered = sorted(set(phrases), key=lambda phrase: (-len(phrase), phrase))
    return "(?:" + "|".join(ordered).replace(" ", " {1,3}") + ")"
