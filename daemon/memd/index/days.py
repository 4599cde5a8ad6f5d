"""The days of notes: by their names, their dated headings, and their last change."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from typing import NamedTuple

from memd.index.keyword import Scope, scope_sql
from memd.index.numbers import pack_ids, pack_json
from memd.system.sqlite import Database
from memd.text.query.dates import day_of_note

DAY_MS = 86_400_000
EPOCH = datetime.date(1970, 1, 1).toordinal()

NEAR_CHUNKS = 8
"""Chunks before a place that are searched for a dated heading."""


class PlaceDays(NamedTuple):
    """What tells the day of a place in a note without a date in its name or its chunk.

    `dated` is the nearest chunk above the place that has a heading with a date, or empty; `beginning` is the start of
    the file; `mtime_ms` is its last change.
    """

    dated: str
    beginning: str
    mtime_ms: int


def load_place_days(db: Database, places: Sequence[tuple[str, int]]) -> list[PlaceDays]:
    """Return what tells the days of places, each a path and a line, in their order."""
    rows = db.execute(
        """SELECT (SELECT text FROM (
                     SELECT text FROM chunks
                     WHERE path = wanted.value ->> 0 AND start_line < wanted.value ->> 1
                     ORDER BY start_char DESC LIMIT :near)
                   WHERE instr(text, '# ') AND text GLOB '*# *[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' LIMIT 1),
             (SELECT text FROM chunks WHERE path = wanted.value ->> 0 ORDER BY start_char LIMIT 1),
             (SELECT mtime_ns / 1000000 FROM files WHERE path = wanted.value ->> 0)
           FROM json_each(:places) AS wanted ORDER BY wanted.key""",
        {"places": pack_json(places), "near": NEAR_CHUNKS},
    )
    return [PlaceDays(str(dated or ""), str(start or ""), int(ms or 0)) for dated, start, ms in rows]


def find_dated(
    db: Database, first: datetime.date, last: datetime.date, limit: int, scope: Scope | None = None
) -> list[int]:
    """Return chunks of notes dated from `first` to `last`, the newest note first, in the order of the text."""
    paths = {}
    for (path,) in db.execute(
        "SELECT path FROM files WHERE path GLOB '*[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'"
    ):
        day = day_of_note(str(path))
        if day is not None and first <= day <= last:
            paths[str(path)] = day
    newest = sorted(paths, key=lambda path: (paths[path], path), reverse=True)
    condition, values = scope_sql(scope)
    rows = db.execute(
        f"""SELECT c.id FROM json_each(:paths) AS wanted CROSS JOIN chunks AS c ON c.path = wanted.value
            WHERE {condition} ORDER BY wanted.key, c.start_char, c.id LIMIT :limit""",
        {**values, "paths": json.dumps(newest), "limit": limit},
    )
    return [int(row[0]) for row in rows]


def load_days_of(db: Database, ids: Sequence[int]) -> dict[int, int]:
    """Return the days of dated chunks, as ordinals: when a conversation was held, or the date in a note's name."""
    days = {}
    for key, path, time_ms in db.execute(
        """SELECT c.id, c.path, t.time_ms FROM json_each(?) AS wanted CROSS JOIN chunks AS c ON c.id = wanted.value
           LEFT JOIN chunk_times AS t ON t.id = c.id""",
        (pack_ids(ids),),
    ):
        day = day_of_note(str(path))
        if day is not None or time_ms:
            days[int(key)] = day.toordinal() if day is not None else EPOCH + int(time_ms) // DAY_MS
    return days


def find_newest(db: Database, limit: int, scope: Scope | None = None) -> list[int]:
    """Return the last chunks of the newest conversation, else of the newest dated note, the last one first."""
    condition, values = scope_sql(scope)
    newest = db.execute(
        f"""SELECT t.path FROM transcripts AS t
            WHERE EXISTS (SELECT 1 FROM chunks AS c WHERE c.path = t.path AND {condition})
            ORDER BY t.updated_ms DESC, t.path DESC LIMIT 1""",
        values,
    ).get
    if newest is None:
        found = find_dated(db, datetime.date.min, datetime.date.max, 1, scope)
        newest = db.execute("SELECT path FROM chunks WHERE id = ?", (found[0],)).get if found else ""
    rows = db.execute(
        f"""SELECT c.id FROM chunks AS c WHERE c.path = :path AND {condition}
            ORDER BY c.start_line DESC, c.id DESC LIMIT :limit""",
        {**values, "path": str(newest), "limit": limit},
    )
    return [int(row[0]) for row in rows]
