"""The days of hits in notes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from memd.index.days import PlaceDays, load_place_days
from memd.index.snapshot import Database
from memd.search.sessions import day_of
from memd_client.messages import Hit

_DAY = r"(\d{4}-[01]\d-[0-3]\d)"
_DATED_HEADING = re.compile(rf"^ {{0,3}}#{{1,6}} .*?\b{_DAY}\b", re.MULTILINE)
_FRONTMATTER = re.compile(r"---\n(.*?)\n---", re.DOTALL)
_DATED_FIELD = re.compile(rf"^(?:date|day|created)\S*\s*:\s*[\"']?{_DAY}", re.MULTILINE | re.IGNORECASE)


def day_of_heading(text: str, end: int) -> str:
    """Return the day of the last dated heading before a place in a text; "" without any."""
    days = _DATED_HEADING.findall(text, 0, end) if text.find("#", 0, end) >= 0 else []
    return str(days[-1]) if days else ""


def with_days(db: Database, hits: Sequence[Hit]) -> list[Hit]:
    """Return hits with their days (blocking).

    Those that have none yet get the day of the last dated heading above them, of the frontmatter, or of the file's last
    change.
    """
    places = [(hit.path, hit.start_line) for hit in hits if not hit.date]
    days = iter(map(_day_of, load_place_days(db, places) if places else ()))
    return [hit if hit.date else replace(hit, date=next(days)) for hit in hits]


def _day_of(known: PlaceDays) -> str:
    day = day_of_heading(known.dated, len(known.dated)) or _day_of_frontmatter(known.beginning)
    return day or day_of(known.mtime_ms)


def _day_of_frontmatter(beginning: str) -> str:
    frontmatter = _FRONTMATTER.match(beginning)
    field = None if frontmatter is None else _DATED_FIELD.search(frontmatter[1])
    return "" if field is None else field[1]
