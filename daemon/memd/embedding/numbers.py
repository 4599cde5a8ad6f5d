"""Numbers from providers and state files, checked before anything is stored or shown. Pure."""

from __future__ import annotations

from typing import Final

MAX_COUNT: Final = 1 << 53
"""The largest count: what JSON readers keep exactly; sums of two stay within msgpack's 64 bits."""

MAX_TIME_MS: Final = 253_402_300_799_999
"""The last millisecond of the year 9999, the latest time that can be printed."""

MAX_REPLY_TOKENS: Final = 10_000_000
"""The most tokens one reply may count, 50 times the largest request."""

MAX_DIMENSIONS: Final = 65_536
"""The longest vector a provider may return."""


def clamped_count(value: object, most: int = MAX_COUNT) -> int:
    """Return a whole number within 0 and `most`; 0 for anything that is no whole number."""
    if isinstance(value, str) and len(value) <= 20 and value.isascii() and value.isdecimal():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return max(0, min(value, most))


def clamped_time_ms(value: object) -> int:
    """Return epoch milliseconds from 1970 to the year 9999; 0 for what is no whole number."""
    return clamped_count(value, MAX_TIME_MS)


def token_count_of(value: object) -> int | None:
    """Return a reply's number of tokens; None if it is no whole number, negative, or not plausible."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= MAX_REPLY_TOKENS else None
