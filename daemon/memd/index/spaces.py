"""What is known of the vector spaces in an index: who fills them, and when each was last in use."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memd.index.database import Database
from memd.index.meta import find_meta, set_meta

SPACES = "spaces"
JOBS = "bulk_jobs"


def note_space(db: Database, space_id: str, recipe: Mapping[str, str], now_ms: int) -> None:
    """Write down how a space's provider is made, and that the space is in use now.

    Spaces that hold no vector any more, and are not this one, are forgotten.
    """
    known = _load(db)
    held = {str(row[0]) for row in db.execute("SELECT DISTINCT provider_key FROM embedding_cache")}
    known = {key: value for key, value in known.items() if key in held}
    known[space_id] = {"recipe": dict(recipe), "used_ms": now_ms}
    set_meta(db, SPACES, json.dumps(known))


def find_recipe(db: Database, space_id: str) -> dict[str, str] | None:
    """Return what makes a space's provider again; of a space another program filled what its vectors say."""
    entry = _load(db).get(space_id)
    if entry is not None:
        return {str(key): str(value) for key, value in entry["recipe"].items()}
    row = db.execute(
        "SELECT provider, model FROM embedding_cache WHERE provider_key = ? LIMIT 1", (space_id,)
    ).fetchone()
    return None if row is None else {"provider": str(row[0]), "model": str(row[1])}


def used_times(db: Database) -> dict[str, int]:
    """Return when each space was last known to be in use, in epoch milliseconds."""
    return {key: int(entry["used_ms"]) for key, entry in _load(db).items()}


def load_jobs(db: Database, space_id: str) -> str | None:
    """Return the jobs at a provider that fill a space and were not finished, as they were saved."""
    return find_meta(db, f"{JOBS}:{space_id}")


def save_jobs(db: Database, space_id: str, jobs: str) -> None:
    """Write down the jobs at a provider that fill a space and are not finished."""
    set_meta(db, f"{JOBS}:{space_id}", jobs)


def _load(db: Database) -> dict[str, Any]:
    """Return what is written down, by space."""
    value = find_meta(db, SPACES)
    known = json.loads(value) if value is not None else {}
    return known if isinstance(known, dict) else {}
