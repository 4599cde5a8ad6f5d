"""Formats counts, sizes, durations and names of models for the command line, the page, messages and logs. Pure.

Sizes are decimal (`kB`, `MB`, `GB`) with three significant digits, counts have thousands separators, durations are
in `ms`, `s`, `min`, `h` and `d`. `tests/support/units.json` has reference values, which the page follows as well.
"""

from __future__ import annotations

SECOND_MS = 1000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

ROUGH_DIGITS = 3
"""Significant digits of a rounded count."""


def count(number: int, noun: str) -> str:
    """Return a number with its noun, such as `1 file` or `1,300 files`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def rough(number: int) -> str:
    """Return a count, rounded to three significant digits from 100,000 on: `12,345`, `1,240,000`."""
    digits = len(str(abs(number)))
    return f"{number:,}" if number < 100_000 else f"{round(number, ROUGH_DIGITS - digits):,}"


def size(size_bytes: int) -> str:
    """Return bytes in decimal units with three significant digits, such as `512 B` or `3.14 MB`."""
    if size_bytes < 1000:
        return f"{size_bytes} B"
    amount = size_bytes / 1000
    for unit in ("kB", "MB", "GB"):
        if amount < 999.5:
            return f"{_three_digits(amount)} {unit}"
        amount /= 1000
    return f"{_three_digits(amount)} TB"


def _three_digits(amount: float) -> str:
    """Return a number of at least 1 with three significant digits; never fewer than its whole part has."""
    if amount < 9.995:
        return f"{amount:.2f}"
    return f"{amount:.1f}" if amount < 99.95 else f"{amount:,.0f}"


def span(duration_ms: float) -> str:
    """Return a duration with its two leading units, such as `4.2 ms` or `3 h 12 min`."""
    if duration_ms < 9.95:
        return f"{duration_ms:.1f} ms"
    if duration_ms < 999.5:
        return f"{duration_ms:.0f} ms"
    if duration_ms < 59_950:
        return f"{duration_ms / SECOND_MS:.1f} s"
    whole = round(duration_ms / SECOND_MS) * SECOND_MS
    if whole < HOUR_MS:
        return _two(whole, MINUTE_MS, "min", SECOND_MS, "s")
    if whole < DAY_MS:
        return _two(whole, HOUR_MS, "h", MINUTE_MS, "min")
    return _two(whole, DAY_MS, "d", HOUR_MS, "h")


def _two(whole_ms: int, large_ms: int, large: str, small_ms: int, small: str) -> str:
    """Return a duration in a large unit and, unless it is zero, the rest in a small one."""
    rest = whole_ms % large_ms // small_ms
    return f"{whole_ms // large_ms} {large}" + (f" {rest} {small}" if rest else "")


def about(duration_ms: float) -> str:
    """Return an estimated duration in one whole unit, such as `30 s`, `100 min` or `3 h`; at least a second."""
    for unit_ms, unit in ((DAY_MS, "d"), (HOUR_MS, "h"), (MINUTE_MS, "min")):
        if duration_ms >= 2 * unit_ms:
            return f"{duration_ms / unit_ms:.0f} {unit}"
    return f"{max(1.0, duration_ms / SECOND_MS):.0f} s"


def embedder(provider: str, model: str) -> str:
    """Return a provider and the short name of its model; empty if there is none."""
    return "" if provider in ("", "none") else f"{provider} {model.rsplit('/', 1)[-1]}".strip()
