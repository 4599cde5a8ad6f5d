"""Values of other programs' tables, which may have any type and any size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

from memd.system.sqlite import ForeignDatabaseError

T = TypeVar("T")

MAX_VALUE_BYTES: Final = 32 * 1_048_576
"""Longest JSON value that is read."""

MAX_NAME_BYTES: Final = 65_536
"""Longest id, title or path that is read."""

MAX_ROWS: Final = 500_000
"""Most rows of one table that are read at once."""

LATEST_MS: Final = 9_000_000_000_000
"""The year 2255: later times don't fit the index's nanoseconds."""

_LARGEST: Final = 2**62


def text_of(value: object) -> str:
    """Return a text, with replacements for invalid UTF-8; "" for anything else."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else ""


def number_of(value: object) -> int:
    """Return a number that isn't negative, at most 2^62; 0 for anything else."""
    if isinstance(value, float):
        return int(value) if 0 < value < _LARGEST else 0
    return min(max(value, 0), _LARGEST) if isinstance(value, int) else 0


def time_of(value: object) -> int:
    """Return a time in milliseconds; 0 if it is unknown or out of range."""
    number = number_of(value)
    return number if number <= LATEST_MS else 0


def blob_of(value: object) -> bytes | None:
    """Return a JSON value as bytes, or None."""
    return value if isinstance(value, bytes) else None


def json_column(name: str) -> str:
    """Return the SQL of a JSON column as bytes: NULL if it is too long, so that one row can't fill the RAM."""
    return f"CASE WHEN octet_length({name}) <= {MAX_VALUE_BYTES} THEN CAST({name} AS BLOB) END"


def text_column(name: str) -> str:
    """Return the SQL of a text column as bytes, which may not be valid UTF-8; NULL if it is too long."""
    return f"CASE WHEN octet_length({name}) <= {MAX_NAME_BYTES} THEN CAST({name} AS BLOB) END"


def limited(rows: Iterable[T]) -> Iterator[T]:
    """Yield rows; raise if there are more than `MAX_ROWS`."""
    for number, row in enumerate(rows):
        if number >= MAX_ROWS:
            raise ForeignDatabaseError(f"it has more than {MAX_ROWS:,} rows", unknown=True)
        yield row
