"""Facts out of a LanceDB table, where OpenClaw's memory plugin of that name kept them.

Knows no other part of memd, and imports lancedb where a table is read: the command line uses it, the daemon never does.
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

PLACE = "memory/lancedb"
"""Where the plugin keeps its database below the state directory, unless its settings say otherwise (`dbPath`)."""

COLUMNS = ("id", "text", "importance", "category", "createdAt", "vector")
"""What is read of a row. Its vector stays: it is one of a model that need not be the one in use."""

MOST_ROWS = 100_000

_NO_FACT = "__schema__"
"""The id of a row the plugin writes to make the table."""

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LAST_MS = 253_402_300_799_999


@dataclass(frozen=True, slots=True)
class FoundFact:
    """A row: what it says for sure, with None for what it doesn't say or says wrongly."""

    id: str
    text: str
    importance: float | None
    category: str | None
    created_ms: int | None
    vector: bytes | None = None


def load_table(folder: Path) -> list[FoundFact]:
    """Return the facts of a database, the oldest first."""
    if not (folder / f"{TABLE}.lance").is_dir():
        raise FileMissingError(
            f"there is no LanceDB table `{TABLE}` in {folder}",
            hint="Name the folder the plugin's setting dbPath names: `memctl facts import PATH`.",
            data={"path": str(folder)},
        )
    try:
        lancedb: Any = import_module("lancedb")
    except ImportError as error:
        from memd_client.installation import Installation

        raise FileUnreadableError(
            f"{folder} is a LanceDB database, and the package to read it is not here ({error})",
            hint=f"Install it for this one import: `{Installation().add_extra('lancedb')}`.",
            data={"path": str(folder)},
        ) from None
    try:
        table = lancedb.connect(str(folder)).open_table(TABLE)
        known = [name for name in COLUMNS if name in table.schema.names]
        count = min(table.count_rows(), MOST_ROWS)
        rows = table.search().select(known).limit(count).to_list() if count else []
    except (ValueError, OSError, RuntimeError) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise FileUnreadableError(f"{folder}: {reason}", data={"path": str(folder)}) from None
    return sorted(facts_of(rows), key=lambda fact: fact.created_ms or 0)


def facts_of(rows: Sequence[Mapping[str, Any]]) -> Iterator[FoundFact]:
    """Give the facts of rows; those without a text are passed over."""
    for row in rows:
        text = row.get("text")
        if not isinstance(text, str) or not text.strip() or row.get("id") == _NO_FACT:
            continue
        category = row.get("category")
        yield FoundFact(
            id=_id_of(row, text),
            text=text,
            importance=_importance(row.get("importance")),
            category=category if isinstance(category, str) else None,
            created_ms=_moment(row.get("createdAt")),
            vector=_vector(row.get("vector")),
        )


def _id_of(row: Mapping[str, Any], text: str) -> str:
    """Return a row's id; for one that can't be a fact's, another that is the same each time."""
    given = row.get("id")
    if isinstance(given, str) and _ID.fullmatch(given):
        return given
    return "lancedb-" + sha256(f"{given}\0{text}".encode("utf-8", "replace")).hexdigest()[:16]


def _importance(value: object) -> float | None:
    """Return an importance from 0 to 1, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    return round(float(value), 3)


def _vector(value: object) -> bytes | None:
    """Return a vector packed as little-endian float32, None for what is none."""
    if not isinstance(value, Sequence) or isinstance(value, str | bytes) or not value:
        return None
    try:
        return struct.pack(f"<{len(value)}f", *value)
    except (struct.error, OverflowError):
        return None


def _moment(value: object) -> int | None:
    """Return epoch milliseconds, None for what is no moment."""
    if isinstance(value, datetime):
        value = (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp() * 1000
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return int(value) if 0 < value <= _LAST_MS else None
