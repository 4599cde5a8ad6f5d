"""Metadata of an index: its vector spaces, generation, last sync and chunking scheme."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from memd.system.sqlite import Database

ACTIVE_SPACE = "active_space"
GENERATION = "generation"
LAST_SYNC = "last_sync_ms"
CUT = "cut"
SPACES = "spaces"
EXCLUSIONS = "exclusions"
WORK_SOURCES = "work_sources"
JOBS = "bulk_jobs"

ADOPTED = "openclaw"
"""Prefix of a chunking scheme adopted with OpenClaw's vectors, and kept so that nothing is embedded twice."""


class ActiveSpace(Struct, frozen=True):
    """The vector space that answers searches: its opaque id and the length of its vectors."""

    id: str
    dims: int


def find_meta(db: Database, key: str) -> str | None:
    """Return a value by its key, or None."""
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if row is None else str(row[0])


def set_meta(db: Database, key: str, value: str) -> None:
    """Write a value."""
    db.execute(
        "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", (key, value)
    )


def generation(db: Database) -> int:
    """Return the generation: how many commits changed the text of this index. It never decreases."""
    return int(find_meta(db, GENERATION) or 0)


def bump_generation(db: Database) -> int:
    """Increment the generation and return it."""
    new = generation(db) + 1
    set_meta(db, GENERATION, str(new))
    return new


def active_space(db: Database) -> ActiveSpace | None:
    """Return the vector space that answers searches, or None if there is none."""
    value = find_meta(db, ACTIVE_SPACE)
    if value is None:
        return None
    space_id, dims = json.loads(value)
    return ActiveSpace(space_id, dims)


def set_active_space(db: Database, space_id: str, dims: int) -> None:
    """Make a vector space the one that answers. Call `chunks_vec.refill` afterwards."""
    set_meta(db, ACTIVE_SPACE, json.dumps([space_id, dims]))


def find_last_sync(db: Database) -> int | None:
    """Return when the last full sync began, in epoch milliseconds, or None."""
    value = find_meta(db, LAST_SYNC)
    return None if value is None else int(value)


def set_last_sync(db: Database, started_ms: int) -> None:
    """Record when a full sync began."""
    set_meta(db, LAST_SYNC, str(started_ms))


def find_chunking_scheme(db: Database) -> str | None:
    """Return the name of the chunking scheme of this index, or None if nothing was chunked yet."""
    return find_meta(db, CUT)


def set_chunking_scheme(db: Database, name: str) -> None:
    """Record the chunking scheme of all files of this index."""
    set_meta(db, CUT, name)


def set_adopted_chunking_scheme(db: Database, tokens: int, overlap: int) -> None:
    """Record OpenClaw's chunking scheme, with its sizes in tokens, for adopted vectors."""
    set_chunking_scheme(db, f"{ADOPTED} {tokens} {overlap}")


def note_space(db: Database, space_id: str, recipe: Mapping[str, str], now_ms: int) -> None:
    """Record a space's provider recipe, and that the space is in use now.

    Recipes of other spaces without vectors are deleted.
    """
    known = _load_spaces(db)
    filled = {str(row[0]) for row in db.execute("SELECT DISTINCT provider_key FROM embedding_cache")}
    known = {key: value for key, value in known.items() if key in filled}
    known[space_id] = {"recipe": dict(recipe), "used_ms": now_ms}
    set_meta(db, SPACES, json.dumps(known))


def find_recipe(db: Database, space_id: str) -> dict[str, str] | None:
    """Return the recipe of a space's provider; of an adopted space only the provider and model of its vectors."""
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
    """Return the unfinished batch jobs of a space, as they were saved, or None."""
    return find_meta(db, f"{JOBS}:{space_id}")


def save_jobs(db: Database, space_id: str, jobs: str) -> None:
    """Save the unfinished batch jobs of a space."""
    set_meta(db, f"{JOBS}:{space_id}", jobs)


def _load_spaces(db: Database) -> dict[str, Any]:
    value = find_meta(db, SPACES)
    known = json.loads(value) if value is not None else {}
    return known if isinstance(known, dict) else {}
