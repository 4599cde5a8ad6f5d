"""What the index knows of a file around a chunk."""

from __future__ import annotations

from memd.index.database import Database
from memd.index.files import ChunkRow
from memd.text.windows import Region


def load_region(db: Database, row: ChunkRow, text: str, reach: int) -> Region | None:
    """Return a part of a file, put together from the chunks around one.

    Args:
        db: A reader connection.
        row: The chunk.
        text: Its text.
        reach: How far to look on each side, in characters.

    Returns:
        The part without gaps around the chunk, or None where it isn't known where the chunk stands.
    """
    if row.end_char <= row.start_char:
        return None
    rows = db.execute(
        """SELECT start_char, end_char, start_line, text FROM chunks
           WHERE path = ? AND +source = ? AND start_char BETWEEN ? AND ? ORDER BY start_char, end_char""",
        (row.path, row.source, row.start_char - 2 * reach, row.end_char + reach),
    )
    around: list[tuple[int, int, int, str]] = [(int(a), int(b), int(c), str(part)) for a, b, c, part in rows]
    start, line, known = row.start_char, row.start_line, text
    for first, end, first_line, part in reversed(around):
        if first < start <= end + 1:
            known = part[: start - first].ljust(start - first, "\n") + known
            start, line = first, first_line
    for first, end, _, part in around:
        stop = start + len(known)
        if first <= stop + 1 and end > stop:
            known += "\n" * (first - stop) + part[max(0, stop - first) :]
    return Region(known, start, line)
