"""Small facts about an index: its vector spaces and which one answers, its generation, how its files were cut."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memd.index.database import Database

ACTIVE_SPACE = "active_space"
GENERATION = "generation"
LAST_SYNC = "last_sync_ms"
CUT = "cut"
SPACES = "spaces"
JOBS = "bulk_jobs"

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


def note_space(db: Database, space_id: str, recipe: Mapping[str, str], now_ms: int) -> None:
    """Write down how a space's provider is made, and that the space is in use now.

    Spaces that hold no vector any more, and are not this one, are forgotten.
    """
    known = _load_spaces(db)
    held = {str(row[0]) for row in db.execute("SELECT DISTINCT provider_key FROM embedding_cache")}
    known = {key: value for key, value in known.items() if key in held}
    known[space_id] = {"recipe": dict(recipe), "used_ms": now_ms}
    set_meta(db, SPACES, json.dumps(known))


def find_recipe(db: Database, space_id: str) -> dict[str, str] | None:
    """Return what makes a space's provider again; of a space another program filled what its vectors say."""
    entry = _load_spaces(db).get(space_id)
    if entry is not None:
        return {str(key): str(value) for key, value in entry["recipe"].items()}
    row = db.execute(
        "SELECT provider, model FROM embedding_cache WHERE provider_key = ? LIMIT 1", (space_id,)
    ).fetchone()
    return None if row is None else {"provider": str(row[0]), "model": str(row[1])}


def used_times(db: Database) -> dict[str, int]:
    """Return when each space was last known to be in use, in epoch milliseconds."""
    return {key: int(entry["used_ms"]) for key, entry in _load_spaces(db).items()}


def load_jobs(db: Database, space_id: str) -> str | None:
    """Return the jobs at a provider that fill a space and were not finished, as they were saved."""
    return find_meta(db, f"{JOBS}:{space_id}")


def save_jobs(db: Database, space_id: str, jobs: str) -> None:
    """Write down the jobs at a provider that fill a space and are not finished."""
    set_meta(db, f"{JOBS}:{space_id}", jobs)


def _load_spaces(db: Database) -> dict[str, Any]:
    value = find_meta(db, SPACES)
    known = json.loads(value) if value is not None else {}
    return known if isinstance(known, dict) else {}
