"""Values of other programs' tables, which may have any type and any size."""

from __future__ import annotations

from typing import Final

from memd.index.database import Database

MAX_VALUE_BYTES: Final = 32 * 1_048_576
"""Longest JSON value that is read."""

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
    """Return the SQL of a text column as bytes, because it may not be valid UTF-8."""
    return f"CAST({name} AS BLOB)"


def column_names(db: Database, table: str) -> frozenset[str]:
    """Return the names of a table's columns; empty if there is no such table."""
    return frozenset(
        text_of(name) for (name,) in db.execute("SELECT name FROM pragma_table_info(?)", (table,))
    )
