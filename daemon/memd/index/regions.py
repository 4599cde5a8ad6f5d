"""Text around a chunk, joined from the neighbouring chunks of its file."""

from __future__ import annotations

from collections.abc import Sequence

from memd.index.annotations import AnnotatedFiles
from memd.index.files import ChunkRow
from memd.index.numbers import pack_json
from memd.system.sqlite import Database
from memd.text.cut.windows import Region

NO_ANNOTATIONS: AnnotatedFiles = {}

_Part = tuple[int, int, int, str]
"""First and end character of a chunk in its file, its first line, and its text."""


def load_regions(
    db: Database,
    chunks: Sequence[tuple[ChunkRow, str]],
    reach: int,
    annotated: AnnotatedFiles = NO_ANNOTATIONS,
) -> dict[int, Region]:
    """Return the text around some chunks, by chunk id, joined from the chunks within `reach` characters."""
    placed = [(row, text) for row, text in chunks if row.end_char > row.start_char]
    wanted = [(row.path, row.source, row.start_char - 2 * reach, row.end_char + reach) for row, _ in placed]
    around: list[list[_Part]] = [[] for _ in placed]
    for at, *part in db.execute(
        """SELECT wanted.key, c.start_char, c.end_char, c.start_line, c.text
           FROM json_each(?) AS wanted CROSS JOIN chunks AS c
           ON c.path = wanted.value ->> 0 AND +c.source = wanted.value ->> 1
           AND c.start_char BETWEEN wanted.value ->> 2 AND wanted.value ->> 3
           ORDER BY wanted.key, c.start_char, c.end_char""",
        (pack_json(wanted),),
    ):
        row = placed[at][0]
        entries = annotated.get(row.path)
        if entries is None or entries.at(row.start_line) == entries.at(part[2]):
            around[at].append(tuple(part))
    return {row.id: _join(row, text, parts) for (row, text), parts in zip(placed, around, strict=True)}


def _join(row: ChunkRow, text: str, around: Sequence[_Part]) -> Region:
    """Return a chunk extended by the neighbouring chunks that adjoin it without a gap."""
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
