"""Small facts about an index: which vector space answers, how often the text changed."""

from __future__ import annotations

import json
from dataclasses import dataclass

from memd.index.database import Database

ACTIVE_SPACE = "active_space"
GENERATION = "generation"
LAST_SYNC = "last_sync_ms"
CUT = "cut"

ADOPTED = "openclaw"
"""Begins the name of a cut that came with vectors OpenClaw bought: it stays, so that nothing is embedded twice."""


@dataclass(frozen=True, slots=True)
class ActiveSpace:
    """The vector space that answers searches: its opaque id and the length of its vectors."""

    id: str
    dims: int


def find_meta(db: Database, key: str) -> str | None:
    """Return a fact by its key."""
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if row is None else str(row[0])


def set_meta(db: Database, key: str, value: str) -> None:
    """Write a fact."""
    db.execute(
        "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", (key, value)
    )


def generation(db: Database) -> int:
    """Return how often the text of this index changed; it only grows while the file lives."""
    return int(find_meta(db, GENERATION) or 0)


def bump_generation(db: Database) -> int:
    """Count one change of text and return the new generation."""
    new = generation(db) + 1
    set_meta(db, GENERATION, str(new))
    return new


def active_space(db: Database) -> ActiveSpace | None:
    """Return the vector space that answers searches, or None before there is one."""
    value = find_meta(db, ACTIVE_SPACE)
    if value is None:
        return None
    space_id, dims = json.loads(value)
    return ActiveSpace(space_id, dims)


def set_active_space(db: Database, space_id: str, dims: int) -> None:
    """Let another vector space answer. `chunks_vec` follows through `chunks_vec.refill`."""
    set_meta(db, ACTIVE_SPACE, json.dumps([space_id, dims]))


def find_last_sync(db: Database) -> int | None:
    """Return when the last sync that looked at everything began, in epoch milliseconds."""
    value = find_meta(db, LAST_SYNC)
    return None if value is None else int(value)


def set_last_sync(db: Database, started_ms: int) -> None:
    """Note when a sync that looked at everything began."""
    set_meta(db, LAST_SYNC, str(started_ms))


def find_cut(db: Database) -> str | None:
    """Return the name of the way the files of this index were cut into chunks, or None where nothing was yet."""
    return find_meta(db, CUT)


def set_cut(db: Database, name: str) -> None:
    """Note the way all files of this index are cut into chunks."""
    set_meta(db, CUT, name)


def set_adopted_cut(db: Database, tokens: int, overlap: int) -> None:
    """Note that vectors came with chunks as OpenClaw cuts them, of some sizes in tokens."""
    set_cut(db, f"{ADOPTED} {tokens} {overlap}")
