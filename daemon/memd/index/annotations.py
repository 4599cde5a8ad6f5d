"""Annotations of note entries, stored as one row in `meta` for each note that has any.

Nearly all notes have none, so a search reads few rows, mostly none.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from memd.index.database import Database
from memd.index.meta import find_meta, set_meta
from memd.text.cut.annotations import AnnotatedEntry, Annotations

PREFIX: Final = "annotations:"
"""Prefix of the keys; the note's path follows."""

_END: Final = "annotations;"
"""Sorts after every key with the prefix."""

VERSION_KEY: Final = "annotations_version"
VERSION: Final = "2"
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


def store_annotations(db: Database, path: str, entries: Sequence[AnnotatedEntry]) -> None:
    """Replace the annotated entries of one note."""
    if entries:
        set_meta(db, PREFIX + path, _encoded(entries))
    else:
        db.execute("DELETE FROM meta WHERE key = ?", (PREFIX + path,))


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
def _decoded(value: str) -> FileAnnotations:
    return FileAnnotations(
        [
            AnnotatedEntry(start, end, Annotations(importance, tuple(triggers), tuple(projects), is_invalid))
            for start, end, importance, triggers, projects, is_invalid in json.loads(value)
        ]
    )
