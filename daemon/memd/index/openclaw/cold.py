"""Where OpenClaw's database says that old events are: in files beside it, or in a column of its own.

What its columns are called is relied on as little as can be.
"""

from __future__ import annotations

from dataclasses import dataclass

from memd.index.database import Database
from memd.index.openclaw.schema import COLD, Shape, as_number, quoted

_ENDING = ".jsonl.zst"
_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class ColdArchive:
    """Where a part of a session is that was moved out of the table of events.

    Attributes:
        name: The file's name in the folder `cold`; empty where it isn't a file, or can't be made out.
        embedded: Whether the archive is kept inside the database.
        last_seq: Number of its last event; 0 where it isn't said.
        size_bytes: How much it holds; 0 where it isn't said.
    """

    name: str
    embedded: bool
    last_seq: int
    size_bytes: int


def find_cold_archives(
    db: Database, shape: Shape, session_id: str | None
) -> dict[str, tuple[ColdArchive, ...]]:
    """Return where cold events are, by session, the oldest first."""
    if not shape.cold_id:
        return {}
    columns = [
        shape.cold_id,
        " OR ".join(f"{quoted(name)} IS NOT NULL" for name in shape.cold_blobs) or "0",
        *map(quoted, shape.cold_facts),
    ]
    statement = f"SELECT {', '.join(columns)} FROM {COLD}"
    if session_id is not None:
        statement += f" WHERE {shape.cold_id} = ?"
    found: dict[str, list[ColdArchive]] = {}
    for key, inside, *values in db.execute(statement, () if session_id is None else (session_id,)):
        known = dict(zip(shape.cold_facts, values, strict=True))
        last_seq = max([as_number(value) for name, value in known.items() if "seq" in name], default=0)
        name = "" if inside else _name_of(known)
        archive = ColdArchive(name, bool(inside), last_seq, as_number(known.get("raw_bytes")))
        found.setdefault(str(key), []).append(archive)
    return {key: tuple(sorted(parts, key=lambda part: part.last_seq)) for key, parts in found.items()}


def read_embedded_archives(db: Database, shape: Shape, session_id: str) -> list[bytes]:
    """Return the archives of a session that are kept inside the database."""
    if not shape.cold_id or not shape.cold_blobs:
        return []
    columns = ", ".join(map(quoted, shape.cold_blobs))
    rows = db.execute(f"SELECT {columns} FROM {COLD} WHERE {shape.cold_id} = ?", (session_id,))
    return [value for row in rows for value in row if isinstance(value, bytes)]


def _name_of(known: dict[str, object]) -> str:
    """Return the name of an archive's file, without its folders; often that is a hash in a column beside it."""
    texts = [
        value.replace("\\", "/").rpartition("/")[2]
        for value in known.values()
        if isinstance(value, str) and "\0" not in value
    ]
    named = [text for text in texts if text.endswith(_ENDING) and len(text) > len(_ENDING)]
    hashes = [text + _ENDING for text in texts if len(text) == 64 and set(text) <= _HEX]
    return next(iter(named + hashes), "")
