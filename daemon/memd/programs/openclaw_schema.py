"""The schema of OpenClaw's own database: differences between its releases, and the supported versions."""

from __future__ import annotations

from msgspec import Struct

from memd.system.sqlite import Database, ForeignDatabaseError, columns_of, get_int

KNOWN_SCHEMAS = range(4, 24)
"""Supported schema versions: from the first with transcripts to 2026.9. A newer one may store parts of a transcript
elsewhere, and an incomplete transcript must not be taken for a complete one."""

COLD = "session_transcript_cold_archives"

_NEEDED = {
    "transcript_events": {"session_id", "seq", "event_json", "created_at"},
    "session_windows": {"session_id", "session_key"},
    "session_nodes": {"session_key", "created_via"},
}
_REWRITES = "transcript_rewrite_watermarks"


class Shape(Struct, frozen=True):
    """SQL expressions that differ between releases; `NULL` if a release lacks the column.

    Attributes:
        empty: Whether the database has no tables yet.
        packed: The column of compressed events.
        packed_bytes: Its length.
        spawned_by: The column of `session_windows w` with the session that started this one.
        changed_at: When a window, `w`, last changed.
        rewritten: A value that changes when the session `i.id` is rewritten.
        cold_id: The column of cold archives with the session's id; empty if there are no archives.
        cold_facts: Its columns that describe an archive.
        cold_blobs: Its columns that may contain an archive.
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
    """Return the SQL expressions for a database; raise if its tables are not supported."""
    empty = get_int(db, "SELECT count(*) FROM sqlite_schema") == 0
    if db.execute("PRAGMA encoding").get != "UTF-8":
        raise ForeignDatabaseError("its encoding is not UTF-8", unknown=True)
    for table, needed in _NEEDED.items() if not empty else ():
        columns = columns_of(db, table)
        if not columns:
            raise ForeignDatabaseError(f"it has no table {table}", unknown=True)
        missing = sorted(needed - set(columns))
        if missing:
            raise ForeignDatabaseError(f"its table {table} has no {', '.join(missing)}", unknown=True)
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
    """Raise if the schema version is not supported."""
    versions = {get_int(db, "PRAGMA user_version")}
    if "schema_version" in columns_of(db, "schema_meta"):
        noted = db.execute("SELECT schema_version FROM schema_meta WHERE schema_version IS NOT NULL")
        versions |= {as_number(row[0]) for row in noted}
    for version in sorted(versions, reverse=True):
        if version not in KNOWN_SCHEMAS:
            raise ForeignDatabaseError(
                f"it has schema version {version}, this release supports {KNOWN_SCHEMAS[0]} to {KNOWN_SCHEMAS[-1]}",
                unknown=True,
            )


def write_listing(shape: Shape, *, one: bool) -> str:
    """Return the statement that lists all sessions, or one.

    Each id is found by one index lookup, not by a scan of all events: there may be a million.
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
    """Return a column's name quoted for a statement."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def as_number(value: object) -> int:
    """Return a value of another program's table as an integer; 0 if it is not a number."""
    return int(value) if isinstance(value, (int, float)) else 0
