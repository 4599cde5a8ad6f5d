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
from memd.text.trust.shingles import shingles_of

MAX_AGE_MS = 7 * 24 * 60 * 60 * 1000
"""How long before a note's last change a text was read that the note repeats."""

_REASONS = msgspec.json.Decoder(tuple[Reason, ...])


class FetchedText(NamedTuple):
    """A text that a session read: its time in milliseconds UTC, origin, description, hashes, and the conversation.

    The outside lines of a note are one too, because other notes may repeat them.
    """

    time_ms: int
    origin: int
    what: str
    shingles: frozenset[int]
    path: str = ""


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
           WHERE reasons <> '' OR default_origin = ? ORDER BY mtime_ns DESC, path""",
        (OUTSIDE,),
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


def store_fetched(db: Database, path: str, texts: Sequence[FetchedText]) -> None:
    """Replace the texts that a conversation read; unchanged ones at the beginning stay."""
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


def load_fetched(db: Database, text: str, condition: str, values: dict[str, object]) -> list[FetchedText]:
    """Return the texts under a condition in SQL that have runs of words of `text`, with the hashes of these alone."""
    query = f"SELECT time_ms, origin, what, hashes, path FROM fetched WHERE {condition}"
    rows = db.execute(query, values).fetchall()
    sought = np.array(sorted(shingles_of(text)) if rows else [], "<i8")
    texts = []
    for time_ms, origin, what, packed, path in rows if len(sought) else ():
        stored = np.frombuffer(packed if isinstance(packed, bytes) else b"", "<i8")
        same = stored[sought.take(np.searchsorted(sought, stored), mode="clip") == stored]
        if len(same):
            facts = int(str(time_ms)), int(str(origin)), str(what)
            texts.append(FetchedText(*facts, frozenset(same.tolist()), str(path)))
    return texts


def find_new_texts(db: Database) -> list[tuple[int, int]]:
    """Return (id, time) of the oldest texts that notes were not compared with yet, at most 256."""
    rows = db.execute("SELECT id, time_ms FROM fetched WHERE is_new ORDER BY time_ms LIMIT 256")
    return [(int(key), int(time_ms)) for key, time_ms in rows]


def find_notes(db: Database, first_ms: int, last_ms: int) -> list[tuple[str, int, int]]:
    """Return (path, earliest, latest time) of the notes that may repeat a text that was read in a period."""
    rows = db.execute(
        """SELECT path, min(mtime_ns, ctime_ns) / 1000000, max(mtime_ns, ctime_ns) / 1000000 FROM files
           WHERE max(mtime_ns, ctime_ns) >= ? * 1000000 AND min(mtime_ns, ctime_ns) <= ? * 1000000
           AND path NOT IN (SELECT path FROM transcripts)""",
        (first_ms, last_ms + MAX_AGE_MS + 1),
    )
    return [(str(path), int(first), int(last)) for path, first, last in rows]


def load_lines(db: Database, path: str) -> list[str]:
    """Return the lines of a note as its chunks, which may overlap, have them; none if all has to be read again."""
    lines: list[str] = []
    for first, text in db.execute(
        """SELECT start_line, text FROM chunks JOIN files USING (path)
           WHERE path = ? AND files.hash <> '' ORDER BY start_char, id""",
        (path,),
    ):
        for number, part in enumerate(text.split("\n"), first - 1):
            lines += [""] * (number + 1 - len(lines))
            lines[number] += "" if part in lines[number] else part
    return lines


def _digest(text: FetchedText) -> int:
    facts = f"{text.time_ms} {text.origin} {text.what} {len(text.shingles)} {sum(text.shingles)}"
    return zlib.crc32(facts.encode("utf-8", "replace"))
