"""Annotations of note entries, stored as one row in `meta` for each note that has any.

Nearly all notes have none, so a search reads few rows, mostly none.
"""

from __future__ import annotations

import datetime
import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Final, TypeAlias

from memd.index.meta import find_meta, set_meta
from memd.system.sqlite import Database
from memd.text.cut.annotations import AnnotatedEntry, Annotations

PREFIX: Final = "annotations:"
"""Prefix of the keys; the note's path follows."""

FACT_DAYS_PREFIX: Final = "fact_days:"
"""Prefix of the keys with the days of a file's facts, by line; the path follows."""

_END: Final = "annotations;"
"""Sorts after every key with the prefix."""

VERSION_KEY: Final = "annotations_version"
VERSION: Final = "3"
"""Version of `memd.text.cut.annotations`: if an index has another one, all files are read again."""


class FileAnnotations:
    """The annotated entries of one note."""

    def __init__(self, entries: Sequence[AnnotatedEntry]) -> None:
        self._entries = entries
        self._starts = [entry.start_line for entry in entries]

    def at(self, line: int) -> AnnotatedEntry | None:
        """Return the annotated entry that contains a line (from 1), or None."""
        at = bisect_right(self._starts, line) - 1
        return self._entries[at] if at >= 0 and line <= self._entries[at].end_line else None


AnnotatedFiles: TypeAlias = Mapping[str, FileAnnotations]
"""Annotated entries by the path of their note."""


def load_annotations(db: Database) -> AnnotatedFiles:
    """Return all annotated entries."""
    rows = db.execute("SELECT key, value FROM meta WHERE key > ? AND key < ?", (PREFIX, _END))
    return {str(key)[len(PREFIX) :]: _decoded(str(value)) for key, value in rows}


def load_fact_days(db: Database, paths: Iterable[str]) -> dict[str, dict[int, datetime.date]]:
    """Return the days of facts by path and line."""
    rows = ((path, find_meta(db, FACT_DAYS_PREFIX + path)) for path in dict.fromkeys(paths))
    return {path: dict(_decoded_days(value)) for path, value in rows if value is not None}


def store_annotations(
    db: Database, path: str, entries: Sequence[AnnotatedEntry], fact_days: Mapping[int, str] | None = None
) -> None:
    """Replace the annotated entries of one note, and the days of its facts by line."""
    stored = {PREFIX: _encoded(entries) if entries else "", FACT_DAYS_PREFIX: json.dumps(fact_days or "")}
    for prefix, value in stored.items():
        if value not in ("", '""'):
            set_meta(db, prefix + path, value)
        else:
            db.execute("DELETE FROM meta WHERE key = ?", (prefix + path,))


def has_current_annotations(db: Database) -> bool:
    """Return whether the files of an index were read by the current version of `memd.text.cut.annotations`."""
    return find_meta(db, VERSION_KEY) == VERSION


def note_current_annotations(db: Database) -> None:
    """Record that all files were read by the current version."""
    set_meta(db, VERSION_KEY, VERSION)


def _encoded(entries: Sequence[AnnotatedEntry]) -> str:
    """Return entries as JSON; white space and lone surrogates are kept."""
    rows = [
        (start, end, each.importance, each.triggers, each.projects, each.is_invalid)
        for start, end, each in entries
    ]
    return json.dumps(rows)


@lru_cache(maxsize=64)
def _decoded_days(value: str) -> Mapping[int, datetime.date]:
    days = {}
    for line, day in json.loads(value).items():
        with suppress(ValueError):  # no such day: 2026-02-31
            days[int(line)] = datetime.date.fromisoformat(day)
    return days


@lru_cache(maxsize=64)
def _decoded(value: str) -> FileAnnotations:
    return FileAnnotations(
        [
            AnnotatedEntry(start, end, Annotations(importance, tuple(triggers), tuple(projects), is_invalid))
            for start, end, importance, triggers, projects, is_invalid in json.loads(value)
        ]
    )
