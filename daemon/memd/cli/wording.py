"""Numbers, times and foreign text as people read them. Pure."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime

from memd.system.units import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from memd.system.units import about as about
from memd.system.units import count as count
from memd.system.units import rough as rough
from memd.system.units import size as size
from memd.system.units import span as span

FRESH_MS = 2 * SECOND_MS
"""Younger than this is "just now": counting single seconds would only look restless."""

ISO = "%Y-%m-%dT%H:%M:%SZ"
IN_NAMES = "%Y%m%dT%H%M%SZ"
"""A moment in UTC: as data has it, and as names of files have it."""

KEPT = "\n\t"
"""Control characters that a terminal shows as what they are."""

UNSAFE_FORMAT = frozenset(
    "\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"
)
"""Line separators and direction marks: they can make a line show something other than what it says."""


def percent(done: int, total: int) -> str:
    """Return a share in whole percent, which is 100 only where nothing is missing."""
    return f"{min(99, 100 * done // total) if done < total else 100} %"


def age(then_ms: int, now_ms: int) -> str:
    """Return the time since then in its largest unit, such as `12 s` or `5 min`; empty for hardly any."""
    age_ms = now_ms - then_ms
    if age_ms < FRESH_MS:
        return ""
    for unit_ms, unit in ((DAY_MS, "d"), (HOUR_MS, "h"), (MINUTE_MS, "min")):
        if age_ms >= unit_ms:
            return f"{age_ms // unit_ms} {unit}"
    return f"{age_ms // SECOND_MS} s"


def ago(then_ms: int | None, now_ms: int) -> str:
    """Return how long ago something was: `never`, `just now` or such as `5 min ago`."""
    if then_ms is None:
        return "never"
    elapsed = age(then_ms, now_ms)
    return f"{elapsed} ago" if elapsed else "just now"


def until(then_ms: int, now_ms: int) -> str:
    """Return how long it is until then, such as `in 25 min`, or `now` where it is over."""
    return f"in {about(then_ms - now_ms)}" if then_ms > now_ms else "now"


def stamp(moment_ms: int, shape: str = IN_NAMES) -> str:
    """Return a moment in UTC, such as `20261122T174012Z`."""
    return datetime.fromtimestamp(moment_ms / 1000, UTC).strftime(shape)


def printable(text: str, kept: str = KEPT) -> str:
    """Return text that can't act on a terminal: control characters and lone surrogates are spelled out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if _is_harmless(char, kept) else _spelled(char) for char in text)


def _is_harmless(char: str, kept: str) -> bool:
    """Tell whether a terminal shows a character and does nothing else with it."""
    if char in kept:
        return True
    return unicodedata.category(char) not in ("Cc", "Cs") and char not in UNSAFE_FORMAT


def _spelled(char: str) -> str:
    """Return a character as its escape sequence."""
    number = ord(char)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def cells(text: str) -> int:
    """Return how many columns of a terminal a text takes: two for a wide character, none for an accent."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    marks = sum(unicodedata.combining(char) != 0 for char in text)
    return len(text) + wide - marks
