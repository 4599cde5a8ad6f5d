"""Checks numbers from providers and state files. Pure."""

from __future__ import annotations

from typing import Final

MAX_COUNT: Final = 1 << 53
"""The largest count: JSON readers keep it exact, and a sum of two fits into msgpack's 64 bits."""

MAX_TIME_MS: Final = 253_402_300_799_999
"""The last millisecond of the year 9999, the latest time that can be printed."""

MAX_REPLY_TOKENS: Final = 10_000_000
"""The largest plausible token count of one reply, 50 times the largest request."""

MAX_DIMENSIONS: Final = 65_536
"""The longest vector a provider may return."""


def clamped_count(value: object, most: int = MAX_COUNT) -> int:
    """Return a whole number clamped to 0 … `most`; 0 for any other value."""
    if isinstance(value, str) and len(value) <= 20 and value.isascii() and value.isdecimal():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return max(0, min(value, most))


def token_count_of(value: object) -> int | None:
    """Return a reply's number of tokens; None if it is not a plausible whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= MAX_REPLY_TOKENS else None
