"""Texts a vector space has no vector of yet, and texts no vector can be had for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from memd.index.database import Database, get_int
from memd.index.numbers import pack_ids
from memd.text.cut.chunking import embedded_text


@dataclass(frozen=True, slots=True)
class RefusedChunk:
    """A place of a text that a provider refused, and why. Lines count from 1, both ends belong to it."""

    path: str
    start_line: int
    end_line: int
    reason: str


def missing_hashes(
    db: Database,
    space_id: str,
    limit: int,
    *,
    without: Collection[str] = (),
    renew_to_id: int | None = None,
) -> list[tuple[str, str]]:
    """Return texts that have no vector yet, those of the newest files first."""
    first: dict[str, int] = {}
    condition, values = _missing(space_id, renew_to_id)
    for key, digest in db.execute(
        f"""SELECT c.id, c.hash FROM files AS f CROSS JOIN chunks AS c ON c.path = f.path
            WHERE {condition} ORDER BY f.mtime_ns DESC, f.path, c.id""",
        values,
    ):
        if digest not in without:
            first.setdefault(digest, key)
        if len(first) >= limit:
            break
    rows = db.execute(
        """SELECT c.hash, c.text, c.context FROM json_each(?) AS wanted
           CROSS JOIN chunks AS c ON c.id = wanted.value ORDER BY wanted.key""",
        (pack_ids(first.values()),),
    )
    return [(str(digest), embedded_text(str(text), str(context))) for digest, text, context in rows]


def count_missing(db: Database, space_id: str, *, renew_to_id: int | None = None) -> int:
    """Return how many different texts have no vector in a space; refused ones don't count."""
    condition, values = _missing(space_id, renew_to_id)
    return get_int(db, f"SELECT count(DISTINCT c.hash) FROM chunks AS c WHERE {condition}", values)


def count_missing_characters(db: Database, space_id: str) -> int:
    """Return how long the texts without a vector are together, in characters."""
    condition, values = _missing(space_id, None)
    statement = f"""SELECT coalesce(sum(n), 0) FROM
                    (SELECT min(length(c.text)) AS n FROM chunks AS c WHERE {condition} GROUP BY c.hash)"""
    return get_int(db, statement, values)


def count_texts(db: Database) -> int:
    """Return how many different texts all chunks hold."""
    return get_int(db, "SELECT count(DISTINCT hash) FROM chunks")


def oldest_missing_ms(db: Database, space_id: str) -> int | None:
    """Return when the oldest chunk without a vector in a space was written, or None where every one has its."""
    condition, values = _missing(space_id, None)
    row = db.execute(f"SELECT min(c.updated_at) FROM chunks AS c WHERE {condition}", values).fetchall()[0]
    return None if row[0] is None else int(row[0])


def refuse_texts(db: Database, space_id: str, reasons: dict[str, str], now_ms: int) -> None:
    """Note texts that no vector can be had for, so that they are not asked for again."""
    db.executemany(
        "INSERT OR REPLACE INTO refused_texts (provider_key, hash, reason, updated_at) VALUES (?, ?, ?, ?)",
        ((space_id, digest, reason, now_ms) for digest, reason in reasons.items()),
    )


def last_vector_id(db: Database) -> int:
    """Return the highest id a vector has, of all spaces; 0 where there is none."""
    return get_int(db, "SELECT coalesce(max(id), 0) FROM embedding_cache")


def forget_refused(db: Database, space_id: str) -> None:
    """Let refused texts be tried again; and forget those no chunk has any more, of all spaces."""
    db.execute(
        """DELETE FROM refused_texts
           WHERE provider_key = ? OR NOT EXISTS (SELECT 1 FROM chunks AS c WHERE c.hash = refused_texts.hash)""",
        (space_id,),
    )


def load_refused(db: Database, space_id: str, limit: int) -> list[RefusedChunk]:
    """Return the chunks a space has no vector for because their text was refused, by path and line."""
    rows = db.execute(
        """SELECT c.path, c.start_line, c.end_line, r.reason FROM refused_texts AS r JOIN chunks AS c ON c.hash = r.hash
           WHERE r.provider_key = ? ORDER BY c.path, c.start_line LIMIT ?""",
        (space_id, limit),
    )
    return [RefusedChunk(*row) for row in rows]


def _missing(space_id: str, renew_to_id: int | None) -> tuple[str, Sequence[str | int]]:
    """Return the condition that a chunk `c` has no vector, and its values.

    The order of vectors is that of their ids, which are never used twice; wall time may be set back meanwhile.
    """
    fresh = "" if renew_to_id is None else "AND e.id > ?"
    condition = f"""NOT EXISTS (SELECT 1 FROM embedding_cache AS e WHERE e.provider_key = ? AND e.hash = c.hash {fresh})
        AND NOT EXISTS (SELECT 1 FROM refused_texts AS r WHERE r.provider_key = ? AND r.hash = c.hash)"""
    return condition, (space_id, *(() if renew_to_id is None else (renew_to_id,)), space_id)
