"""JSON records of programs' transcripts: decoded without raising, whatever they contain."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final, TypeVar

import msgspec

T = TypeVar("T")

LATEST_MS: Final = 9_000_000_000_000
"""The year 2255: later times are taken for damaged ones."""

_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.S
)
"""An escape in a JSON string; the group is a surrogate without its other half."""


def decode_record(data: bytes | None, decoder: msgspec.json.Decoder[T]) -> T | None:
    """Return a JSON record, None if it is broken; invalid UTF-8 and lone surrogates become U+FFFD."""
    if data is None:
        return None
    try:
        return decoder.decode(data)
    except RecursionError:
        return None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        repaired = _ESCAPE.sub(lambda found: b"\\ufffd" if found[1] else found[0], data)
        repaired = repaired.decode("utf-8", "replace").encode()
        if repaired == data:
            return None
    try:
        return decoder.decode(repaired)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def is_set(value: object) -> bool:
    """Return whether a mark of a record is set: anything but null, false, zero and empty values."""
    return bool(value)


def time_ms_of(value: object) -> int | None:
    """Return a time in milliseconds UTC from a number of them or a text in ISO 8601; None for anything else."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
            value = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1_000
        except (ValueError, OverflowError, OSError):
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 < value <= LATEST_MS else None
