"""Facts from the LanceDB table of OpenClaw's memory plugin of that name.

Independent of the rest of memd; only the command line uses it, and lancedb is imported when a table is read.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

from memd_client.errors import FileMissingError, FileUnreadableError

TABLE = "memories"

DATABASE_FOLDER = "memory/lancedb"
"""The plugin's database below the state directory, unless its setting `dbPath` names another."""

COLUMNS = ("id", "text", "importance", "category", "createdAt", "vector")
"""Columns that are read."""

MAX_ROWS = 100_000

_SCHEMA_ROW_ID = "__schema__"
"""Id of the row the plugin writes to create the table."""

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LAST_MS = 253_402_300_799_999


@dataclass(frozen=True, slots=True)
class LanceDbFact:
    """A row of the table, with None for missing and invalid values."""

    id: str
    text: str
    importance: float | None
    category: str | None
    created_ms: int | None
    vector: bytes | None = None


def load_table(folder: Path) -> list[LanceDbFact]:
    """Return the facts of a database, oldest first."""
    if not (folder / f"{TABLE}.lance").is_dir():
        raise FileMissingError(
            f"no LanceDB table `{TABLE}` in {folder}",
            hint="run `memctl facts import PATH` with the folder in the plugin's setting dbPath",
            data={"path": str(folder)},
        )
    try:
        lancedb: Any = import_module("lancedb")
    except ImportError as error:
        from memd_client.installation import Installation

        raise FileUnreadableError(
            f"cannot read the LanceDB database {folder}: the package lancedb is not installed ({error})",
            hint=f"run `{Installation().add_extra('lancedb')}`",
            data={"path": str(folder)},
        ) from None
    try:
        table = lancedb.connect(str(folder)).open_table(TABLE)
        known = [name for name in COLUMNS if name in table.schema.names]
        count = min(table.count_rows(), MAX_ROWS)
        rows = table.search().select(known).limit(count).to_list() if count else []
    except (ValueError, OSError, RuntimeError) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise FileUnreadableError(f"{folder}: {reason}", data={"path": str(folder)}) from None
    return sorted(facts_of(rows), key=lambda fact: fact.created_ms or 0)


def facts_of(rows: Sequence[Mapping[str, Any]]) -> Iterator[LanceDbFact]:
    """Yield the facts of rows; rows without a text are skipped."""
    for row in rows:
        text = row.get("text")
        if not isinstance(text, str) or not text.strip() or row.get("id") == _SCHEMA_ROW_ID:
            continue
        category = row.get("category")
        yield LanceDbFact(
            id=_id_of(row, text),
            text=text,
            importance=_importance(row.get("importance")),
            category=category if isinstance(category, str) else None,
            created_ms=_epoch_ms(row.get("createdAt")),
            vector=_vector(row.get("vector")),
        )


def _id_of(row: Mapping[str, Any], text: str) -> str:
    """Return a row's id, or an id derived from the row if its own is not valid for a fact."""
    given = row.get("id")
    if isinstance(given, str) and _ID.fullmatch(given):
        return given
    return "lancedb-" + sha256(f"{given}\0{text}".encode("utf-8", "replace")).hexdigest()[:16]


def _importance(value: object) -> float | None:
    """Return an importance from 0 to 1; None if invalid."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    return round(float(value), 3)


def _vector(value: object) -> bytes | None:
    """Return a vector packed as little-endian float32; None if invalid."""
    if not isinstance(value, Sequence) or isinstance(value, str | bytes) or not value:
        return None
    try:
        return struct.pack(f"<{len(value)}f", *value)
    except (struct.error, OverflowError):
        return None


def _epoch_ms(value: object) -> int | None:
    """Return epoch milliseconds; None if invalid."""
    if isinstance(value, datetime):
        value = (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp() * 1000
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return int(value) if 0 < value <= _LAST_MS else None
