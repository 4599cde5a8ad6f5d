"""The pause a provider's reply asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from memd.embedding.remote.providers.problems import MAX_BODY, read_problem

MAX_PAUSE_S: Final = 24 * 3600.0
"""No header keeps a provider away for longer than a day."""

_NUMBER: Final = re.compile(r"\s*-?\d+(\.\d+)?\s*", re.ASCII)
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)s", re.ASCII)


def retry_after_s(headers: Mapping[str, str], body: bytes) -> float | None:
    """Return the pause a reply asks for."""
    named = [
        _seconds(headers.get("retry-after-ms"), 1000.0),
        _seconds(headers.get("retry-after"), 1.0),
        _until(headers.get("retry-after"), headers.get("date")),
        _retry_info(body),
    ]
    pause = next((seconds for seconds in named if seconds is not None), None)
    return None if pause is None else min(max(pause, 0.0), MAX_PAUSE_S)


def _seconds(text: str | None, divisor: float) -> float | None:
    """Return a header's number in seconds."""
    if text is None or not _NUMBER.fullmatch(text):
        return None
    return float(text) / divisor


def _until(text: str | None, date: str | None) -> float | None:
    """Return the seconds from the reply's date to the one it names."""
    if text is None or date is None:
        return None
    from email.utils import parsedate_to_datetime  # large, and hardly a provider names a date

    try:
        return (parsedate_to_datetime(text) - parsedate_to_datetime(date)).total_seconds()
    except (ValueError, TypeError, OverflowError):  # no date, or one with a zone and one without
        return None


def _retry_info(body: bytes) -> float | None:
    """Return the seconds of Google's RetryInfo."""
    if b"retryDelay" not in body[:MAX_BODY]:
        return None
    for fact in read_problem(body).facts:
        delay = fact.get("retryDelay")
        found = _DURATION.fullmatch(delay) if isinstance(delay, str) else None
        if found:
            return float(found[1])
    return None
