"""Lines of notes get the origin of what they repeat: when they are indexed, and when the text is indexed after them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import Final, TypeAlias

from msgspec.structs import astuple

from memd.index.files import FileRow
from memd.index.origins import (
    MAX_AGE_MS,
    FetchedText,
    find_new_texts,
    find_notes,
    load_fetched,
    load_lines,
    load_origins,
    store_fetched,
    store_origins,
)
from memd.system.sqlite import Database
from memd.text.trust.contributions import repeated_texts
from memd.text.trust.origins import UNKNOWN, USER, LineOrigins
from memd.text.trust.shingles import shingles_of

NOTES_AT_ONCE: Final = 256
REPEATS: Final = "repeats "

Release: TypeAlias = Callable[[str, Sequence[str], LineOrigins], LineOrigins]
"""(path, lines, origins) -> origins without what the user released."""


def store_note_origins(
    db: Database, row: FileRow, text: str, origins: LineOrigins, before: Collection[str], release: Release
) -> None:
    """Store the origins of the lines of a note, which may repeat what was read within 7 days before they were written.

    Lines in `before` were there before the last change: they stay outside, but repeat nothing that was read since.
    """
    # Both times, because programs can set the first one.
    first_ms, last_ms = sorted((row.mtime_ns // 1_000_000, row.ctime_ns // 1_000_000))
    values: dict[str, object] = {"path": row.path, "first": first_ms - MAX_AGE_MS, "last": last_ms}
    condition = "time_ms BETWEEN :first AND :last AND NOT is_new OR path = :path"
    texts, lines = load_fetched(db, text, condition, values), text.split("\n")
    origins = _lowered(origins, lines, [each for each in texts if each.path == row.path])
    new = ["" if line.strip() in before else line for line in lines]
    origins = _lowered(origins, new, [each for each in texts if each.path != row.path])
    _store(db, row.path, lines, origins, last_ms, release)


def compare_new_texts(db: Database, release: Release) -> None:
    """Compare notes, as their chunks have them, with the oldest texts that were indexed since."""
    new = find_new_texts(db)
    ids: dict[str, object] = {"ids": json.dumps([key for key, _ in new])}
    rows = find_notes(db, new[0][1], new[-1][1])
    paths = {path for path, *_ in rows}
    for first in range(0, len(rows), NOTES_AT_ONCE):
        notes = [(*row, load_lines(db, row[0])) for row in rows[first : first + NOTES_AT_ONCE]]
        joined = "\n".join(line for *_, lines in notes for line in lines)
        texts = load_fetched(db, joined, "id IN (SELECT value FROM json_each(:ids))", ids)
        stored = load_origins(db, [path for path, *_ in notes])
        for path, first_ms, last_ms, lines in notes if texts else ():
            since_ms, before = first_ms - MAX_AGE_MS, stored.get(path, UNKNOWN)
            # Of two notes with the same line, the user's is the original unless the copy was seen to be made.
            skipped = paths if before.default == USER else {path}
            others = [
                each for each in texts if each.path not in skipped and since_ms <= each.time_ms <= last_ms
            ]
            origins = _lowered(before, lines, others)
            if origins != before:  # its own texts are what the user may have released
                own = load_fetched(db, "\n".join(lines), "path = :path", {"path": path})
                _store(db, path, lines, _lowered(origins, lines, own), last_ms, release)
    db.execute("UPDATE fetched SET is_new = 0 WHERE id IN (SELECT value FROM json_each(:ids))", ids)


def _lowered(origins: LineOrigins, lines: Sequence[str], texts: Sequence[FetchedText]) -> LineOrigins:
    for number, text in repeated_texts(lines, texts).items() if texts else ():
        origins = origins.lowered([number], text.origin, f"{REPEATS}{text.what}", len(lines))
    return origins


def _store(
    db: Database, path: str, lines: Sequence[str], origins: LineOrigins, last_ms: int, release: Release
) -> None:
    """Store the origins of a note's lines, and the outside lines as texts that others may repeat."""
    outside = list[FetchedText]()
    for first, last, why in map(astuple, origins.reasons):
        what = why.removeprefix(REPEATS) if why.startswith(REPEATS) else f"text {why}"
        shingles = frozenset(shingles_of("\n".join(lines[first - 1 : last])))
        outside.append(FetchedText(last_ms, origins.lowest(first, last), what, shingles))
    store_fetched(db, path, outside)
    store_origins(db, path, release(path, lines, origins) if outside else origins)
