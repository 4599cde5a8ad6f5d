"""Queries that go on where the last conversation ended: "I'm back", "where were we?"."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from memd.text.data_files import read_sections
from memd.text.lazy_pattern import lazy_pattern

_PHRASES = lazy_pattern(
    "|".join(f"(?:{row})" for row in read_sections(Path(__file__).with_suffix(".txt"))["resuming"]),
    re.IGNORECASE,
)


@lru_cache(maxsize=256)  # searches are repeated, and the patterns take 40 µs
def without_resuming(query: str) -> str | None:
    """Return a query without the phrases that resume a conversation; None if it has no such phrase."""
    rest, count = _PHRASES.subn(" ", query.replace("’", "'"))
    return " ".join(rest.split()) if count else None
