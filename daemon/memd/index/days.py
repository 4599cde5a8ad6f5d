"""Finds dated notes by the date in their names."""

from __future__ import annotations

import datetime
import json

from memd.index.keyword import Scope, scope_sql
from memd.system.sqlite import Database
from memd.text.query.dates import day_of_note


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
