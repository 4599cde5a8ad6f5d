"""Which line of a transcript each indexed line was, and how many transcripts there are."""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from memd.index.database import Database


@dataclass(frozen=True, slots=True)
class TranscriptCounts:
    """How many transcripts an index holds, their messages, and the secrets left out of them."""

    transcripts: int = 0
    messages: int = 0
    redactions: int = 0


def store_transcript(
    db: Database, path: str, line_map: Sequence[int], redactions: int, last_from: int = 1
) -> None:
    """Write down where a transcript's lines came from."""
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
    """Return how many transcripts, messages and redactions the index holds."""
    row = db.execute(
        "SELECT count(*), coalesce(sum(messages), 0), coalesce(sum(redactions), 0) FROM transcripts"
    ).fetchall()[0]
    return TranscriptCounts(*(int(str(fact)) for fact in row))
