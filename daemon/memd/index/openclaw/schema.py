"""Which tables OpenClaw's own database has: what its releases name the same, and whether this release knows it."""

from __future__ import annotations

from dataclasses import dataclass

from memd.index.database import Database, get_int

KNOWN_SCHEMAS = range(4, 24)
"""Versions of the database that keep transcripts as they are read here: from the first with transcripts on, to
2026.9. A newer one may keep something elsewhere, and half a history must not pass for the whole."""

COLD = "session_transcript_cold_archives"

_NEEDED = {
    "transcript_events": {"session_id", "seq", "event_json", "created_at"},
    "session_windows": {"session_id", "session_key"},
    "session_nodes": {"session_key", "created_via"},
}
_REWRITES = "transcript_rewrite_watermarks"


class OpenClawDatabaseError(Exception):
    """The database can't be read now.

    Attributes:
        reason: Why, in words.
        busy: Whether it is only locked for a moment.
        unknown: Whether it is no database, or one of another kind, so that it may not be read at all.
    """

    def __init__(self, reason: str, *, busy: bool = False, unknown: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.busy = busy
        self.unknown = unknown


@dataclass(frozen=True, slots=True)
class Shape:
    """What differs between releases, as it goes into statements; `NULL` where there is no such thing.

    Attributes:
        empty: Whether there is no table at all yet.
        packed: The column of compressed events.
        packed_bytes: Its length.
        spawned_by: The column of `session_windows w` that names the session it was started by.
        changed_at: When a window, `w`, last changed.
        rewritten: What tells rewrites of the session `i.id` apart.
        cold_id: The column of cold archives with the session's id; empty where there are none.
        cold_facts: Its columns that say something about an archive.
        cold_blobs: Its columns that may hold one.
    """

    empty: bool
    packed: str
    packed_bytes: str
    spawned_by: str
    changed_at: str
    rewritten: str
    cold_id: str
    cold_facts: tuple[str, ...]
    cold_blobs: tuple[str, ...]


def read_shape(db: Database) -> Shape:
    """Return the shape of a database."""
    empty = get_int(db, "SELECT count(*) FROM sqlite_schema") == 0
    if db.execute("PRAGMA encoding").get != "UTF-8":
        raise OpenClawDatabaseError("its texts aren't UTF-8", unknown=True)
    for table, needed in _NEEDED.items() if not empty else ():
        columns = columns_of(db, table)
        if not columns:
            raise OpenClawDatabaseError(f"it has no table {table}", unknown=True)
        missing = sorted(needed - set(columns))
        if missing:
            raise OpenClawDatabaseError(f"its table {table} has no {', '.join(missing)}", unknown=True)
    packed = "event_zstd" in columns_of(db, "transcript_events")
    windows = columns_of(db, "session_windows")
    changed = [f"w.{name}" for name in ("transcript_updated_at", "updated_at") if name in windows]
    rewrites = {"session_id", "generation", "updated_at"} <= set(columns_of(db, _REWRITES))
    cold = columns_of(db, COLD)
    cold_id = next((n for n in cold if n == "session_id"), next((n for n in cold if "session" in n), ""))
    blobs = tuple(name for name, kind in cold.items() if "BLOB" in kind)
    return Shape(
        empty=empty,
        packed="event_zstd" if packed else "NULL",
        packed_bytes="octet_length(event_zstd)" if packed else "NULL",
        spawned_by="w.spawned_by" if "spawned_by" in windows else "NULL",
        changed_at=f"coalesce({', '.join([*changed, '0', '0'])})",
        rewritten=f"(SELECT generation || updated_at FROM {_REWRITES} WHERE session_id = i.id)"
        if rewrites
        else "NULL",
        cold_id=quoted(cold_id) if cold_id else "",
        cold_facts=tuple(n for n in cold if n != cold_id and n not in blobs),
        cold_blobs=blobs,
    )


def check_version(db: Database) -> None:
    """Refuse a database of a release this one doesn't know."""
    versions = {get_int(db, "PRAGMA user_version")}
    if "schema_version" in columns_of(db, "schema_meta"):
        noted = db.execute("SELECT schema_version FROM schema_meta WHERE schema_version IS NOT NULL")
        versions |= {as_number(row[0]) for row in noted}
    for version in sorted(versions, reverse=True):
        if version not in KNOWN_SCHEMAS:
            raise OpenClawDatabaseError(
                f"it has schema version {version}, and this release reads {KNOWN_SCHEMAS[0]} to {KNOWN_SCHEMAS[-1]}",
                unknown=True,
            )


def write_listing(shape: Shape, *, one: bool) -> str:
    """Return the statement that lists sessions.

    Ids are found by one step down the index each, not by a walk over all events: a history may have a million.
    """
    cold = f" UNION SELECT {shape.cold_id} FROM {COLD}" if shape.cold_id else ""
    every = f"""hot(id) AS (
            SELECT min(session_id) FROM transcript_events
            UNION ALL
            SELECT (SELECT min(session_id) FROM transcript_events WHERE session_id > hot.id) FROM hot
            WHERE hot.id IS NOT NULL
        ),
        i(id) AS (SELECT id FROM hot WHERE id IS NOT NULL{cold})"""
    return f"""WITH RECURSIVE {"i(id) AS (SELECT ?)" if one else every}
        SELECT i.id, l.seq, l.created_at, {shape.changed_at}, {shape.rewritten}, w.session_key, {shape.spawned_by},
            (SELECT created_via FROM session_nodes n WHERE n.session_key = w.session_key)
        FROM i
        LEFT JOIN transcript_events l ON l.session_id = i.id
            AND l.seq = (SELECT max(seq) FROM transcript_events WHERE session_id = i.id)
        LEFT JOIN session_windows w ON w.session_id = i.id"""


def quoted(name: str) -> str:
    """Return a column's name as it may stand in a statement."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def as_number(value: object) -> int:
    """Return a whole number of a foreign table; 0 for what is none."""
    return int(value) if isinstance(value, (int, float)) else 0


def columns_of(db: Database, table: str) -> dict[str, str]:
    """Return the columns of a table with their declared types; none where there is no such table."""
    rows = db.execute("SELECT name, upper(type) FROM pragma_table_info(?)", (table,))
    return {str(name): str(kind) for name, kind in rows}
