"""Origins of the lines of indexed files, and hashes of the texts that sessions read."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from memd.system.sqlite import Database
from memd.text.trust.origins import OUTSIDE, UNKNOWN, LineOrigins, Reason

MAX_AGE_MS = 7 * 24 * 60 * 60 * 1000
"""How long before a note's last change a text was read that the note repeats."""

_REASONS = msgspec.json.Decoder(tuple[Reason, ...])


class FetchedText(NamedTuple):
    """A text that a session read: its time in milliseconds UTC (0 if unknown), origin, description and hashes."""

    time_ms: int
    origin: int
    what: str
    shingles: frozenset[int]


def store_origins(db: Database, path: str, origins: LineOrigins) -> None:
    """Replace the origins of a file's lines, and the masks of its chunks, which must be there."""
    if origins == UNKNOWN:
        db.execute("DELETE FROM origins WHERE path = ?", (path,))
    else:
        reasons = msgspec.json.encode(origins.reasons).decode() if origins.reasons else ""
        db.execute(
            "INSERT OR REPLACE INTO origins (path, default_origin, reasons, numbers) VALUES (?, ?, ?, ?)",
            (path, origins.default, reasons, origins.numbers),
        )
    rows = db.execute(
        "SELECT id, start_line, end_line, origins FROM chunks WHERE path = ?", (path,)
    ).fetchall()
    changes = [
        (mask, key)
        for key, first, last, before in rows
        if (mask := origins.all_of(int(str(first)), int(str(last)))) != before
    ]
    db.executemany("UPDATE chunks SET origins = ? WHERE id = ?", changes)


def find_outside(db: Database) -> list[tuple[str, int, LineOrigins]]:
    """Return (path, time of the last change, origins) of the files with outside lines, the newest first."""
    rows = db.execute(
        """SELECT path, mtime_ns / 1000000 FROM origins JOIN files USING (path)
           WHERE reasons <> '' OR default_origin = 3 ORDER BY mtime_ns DESC, path"""
    ).fetchall()
    known = load_origins(db, [str(path) for path, _ in rows])
    files = [(str(path), int(str(time_ms)), known[str(path)]) for path, time_ms in rows]
    return [file for file in files if OUTSIDE in (file[2].numbers or (file[2].default,))]


def load_origins(db: Database, paths: Collection[str]) -> dict[str, LineOrigins]:
    """Return the origins of the lines of some files, by path; files of which nothing is known are missing."""
    rows = db.execute(
        """SELECT path, default_origin, reasons, numbers FROM origins
           WHERE path IN (SELECT value FROM json_each(?))""",
        (json.dumps(sorted(paths)),),
    )
    return {
        str(path): LineOrigins(
            numbers if isinstance(numbers, bytes) else b"",
            int(str(default)),
            _REASONS.decode(str(reasons)) if reasons else (),
        )
        for path, default, reasons, numbers in rows
    }


def forget_origins(db: Database, path: str) -> None:
    """Delete what is stored about the lines of a file and the texts that it read."""
    db.execute("DELETE FROM origins WHERE path = ?", (path,))
    store_fetched(db, path, ())


def store_fetched(db: Database, path: str, texts: Sequence[FetchedText]) -> bool:
    """Replace the texts that a conversation read; return whether any is new. Unchanged ones at the beginning stay."""
    old = db.execute("SELECT id, digest FROM fetched WHERE path = ? ORDER BY id", (path,)).fetchall()
    digests = list(map(_digest, texts))
    same = 0
    while same < min(len(old), len(texts)) and old[same][1] == digests[same]:
        same += 1
    db.executemany("DELETE FROM fetched WHERE id = ?", [(key,) for key, _ in old[same:]])
    db.executemany(
        "INSERT INTO fetched (path, time_ms, origin, what, digest, hashes) VALUES (?, ?, ?, ?, ?, ?)",
        (
            (
                path,
                text.time_ms,
                text.origin,
                text.what,
                digest,
                np.array(sorted(text.shingles), "<i8").tobytes(),
            )
            for text, digest in zip(texts[same:], digests[same:], strict=True)
        ),
    )
    return same < len(texts)


def load_fetched(db: Database, since_ms: int, until_ms: int) -> list[FetchedText]:
    """Return the texts that sessions read in a period, and those of unknown time, the newest first."""
    rows = db.execute(
        """SELECT time_ms, origin, what, hashes FROM fetched
           WHERE time_ms BETWEEN ? AND ? OR time_ms = 0 ORDER BY time_ms DESC""",
        (since_ms, until_ms),
    )
    return [
        FetchedText(int(str(time_ms)), int(str(origin)), str(what), frozenset(_unpack(hashes)))
        for time_ms, origin, what, hashes in rows
    ]


def _digest(text: FetchedText) -> int:
    facts = f"{text.time_ms} {text.origin} {text.what} {len(text.shingles)} {sum(text.shingles)}"
    return zlib.crc32(facts.encode("utf-8", "replace"))


def _unpack(hashes: object) -> list[int]:
    numbers: list[int] = np.frombuffer(hashes if isinstance(hashes, bytes) else b"", "<i8").tolist()
    return numbers
