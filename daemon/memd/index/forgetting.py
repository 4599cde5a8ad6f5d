"""Finds the files whose rows contain forgotten texts, and deletes all of their rows, so that they are read again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import groupby

from memd.index.files import forget_file
from memd.system.sqlite import Database

_OTHER_TEXTS = """
SELECT path, title FROM transcripts
UNION ALL SELECT path, concat_ws(char(10), text, detail, subject, line, folder, error) FROM steps
UNION ALL SELECT substr(key, instr(key, ':') + 1), value FROM meta WHERE instr(key, ':')
UNION ALL SELECT path, 'conversation ' || path FROM files
"""


def count_by_path(db: Database, count: Callable[[str], int]) -> dict[str, int]:
    """Return how many forgotten texts each file's rows contain, by a function that counts those in a text."""
    counts = Counter[str]()
    rows = db.execute("SELECT path, start_char, end_char, text FROM chunks ORDER BY path, start_char, id")
    for path, chunks in groupby(rows, key=lambda row: str(row[0])):
        text, end = "", -1
        for _, start, stop, part in chunks:
            overlap = end - start if stop else -1
            text += part[overlap:] if overlap >= 0 else f"\n{part}"
            end = max(end, stop)
        counts[path] += count(text)
    for path, text in db.execute(_OTHER_TEXTS):
        counts[str(path)] += count(str(text))
    return {path: number for path, number in counts.items() if number}


def erase(db: Database, count: Callable[[str], int]) -> None:
    """Delete the rows of the files that contain forgotten texts, and vectors of texts that no chunk has."""
    for path in count_by_path(db, count):
        forget_file(db, path)
    for table in ("embedding_cache", "refused_texts"):
        db.execute(f"DELETE FROM {table} WHERE hash NOT IN (SELECT hash FROM chunks)")
