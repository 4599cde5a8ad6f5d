"""Line maps of transcripts (from indexed lines to lines of the transcript), and their counts."""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from memd.index.database import Database


@dataclass(frozen=True, slots=True)
class TranscriptCounts:
    """Number of transcripts in an index, of their messages, and of secrets redacted from them."""

    transcripts: int = 0
    messages: int = 0
    redactions: int = 0


def store_transcript(
    db: Database, path: str, line_map: Sequence[int], redactions: int, last_from: int = 1
) -> None:
    """Store a transcript's line map and counts."""
    packed = array("q", line_map)
    if sys.byteorder == "big":
        packed.byteswap()
    db.execute(
        """INSERT INTO transcripts (path, messages, redactions, line_map, last_from) VALUES (?, ?, ?, ?, ?)
           ON CONFLICT (path) DO UPDATE SET messages = excluded.messages, redactions = excluded.redactions,
           line_map = excluded.line_map, last_from = excluded.last_from""",
        (path, len(line_map), redactions, packed.tobytes(), last_from),
    )


def load_line_maps(db: Database, paths: Collection[str]) -> dict[str, Sequence[int]]:
    """Return the line maps of some transcripts by path."""
    rows = db.execute(
        "SELECT path, line_map FROM transcripts WHERE path IN (SELECT value FROM json_each(?))",
        (json.dumps(sorted(paths)),),
    )
    maps: dict[str, Sequence[int]] = {}
    for path, blob in rows:
        unpacked = array("q", blob)
        if sys.byteorder == "big":
            unpacked.byteswap()
        maps[str(path)] = unpacked
    return maps


def count_transcripts(db: Database) -> TranscriptCounts:
    """Return the number of transcripts, messages and redactions."""
    row = db.execute(
        "SELECT count(*), coalesce(sum(messages), 0), coalesce(sum(redactions), 0) FROM transcripts"
    ).fetchall()[0]
    return TranscriptCounts(*(int(str(fact)) for fact in row))
