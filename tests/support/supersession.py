"""Dated lines of chunks, for tests of supersession."""

from __future__ import annotations

import datetime

from memd.search.rank.supersession import DatedLine

DAY = datetime.date(2026, 3, 2)


def line_of(chunk_id: int, day: datetime.date) -> DatedLine:
    """Return the first line of a chunk."""
    return DatedLine(day, f"{chunk_id}.md", 1, chunk_id, None, "")
