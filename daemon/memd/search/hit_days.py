"""The days of hits."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from memd.index.days import PlaceDays, load_place_days
from memd.index.snapshot import Database
from memd.search.sessions import day_of
from memd_client.messages import Hit

_DAY = r"(\d{4}-[01]\d-[0-3]\d)"
_DATED_HEADING = re.compile(rf" {{0,3}}#{{1,6}} .*?\b{_DAY}\b")
_FRONTMATTER = re.compile(r"---\n(.*?)\n---", re.DOTALL)
_DATED_FIELD = re.compile(rf"^(?:date|day|created)\S*\s*:\s*[\"']?{_DAY}", re.MULTILINE | re.IGNORECASE)


def with_days(db: Database, hits: Sequence[Hit]) -> list[Hit]:
    """Return hits with their days; those that have none yet get the one of their note (blocking)."""
    places = [(hit.path, _matched_line(hit)) for hit in hits if not hit.date]
    days = zip(places, load_place_days(db, places) if places else (), strict=True)
    found = iter([day_of_place(line, known) for (_, line), known in days])
    return [hit if hit.date else replace(hit, date=next(found)) for hit in hits]


def _matched_line(hit: Hit) -> int:
    """Return the first line of a note's hit with a matched term: a snippet may have several dated headings."""
    return hit.start_line + hit.snippet.count("\n", 0, hit.spans[0][0] if hit.spans else 0)


def day_of_place(line: int, known: PlaceDays) -> str:
    """Return the day of a line: that of the last dated heading up to it, of the frontmatter, or of the last change."""
    for first, text in known.dated:
        for above in reversed(text.split("\n")[: line - first + 1]):
            if found := _DATED_HEADING.match(above):
                return found[1]
    frontmatter = _FRONTMATTER.match(known.beginning)
    field = None if frontmatter is None else _DATED_FIELD.search(frontmatter[1])
    return day_of(known.mtime_ms) if field is None else field[1]
