"""Entries of a daily note: their text, their lines, and the detection of repeated ones."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from msgspec import Struct

from memd.text.fences import fence_of, is_end
from memd.text.query.dates import MIN_YEAR

KEY_DAYS = 2
"""How many days back the key of an entry is searched if no day is given."""

_LAST_DAY = date.max.toordinal()

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_FORGED = re.compile(r"<!--(?=\s*memd:)", re.IGNORECASE)
_CONTROL = re.compile(r"[\x01-\x08\x0b-\x1f\x7f-\x9f]")
_COMMENT = re.compile(r" {0,3}<!--")


class DailyEntry(Struct, frozen=True):
    """The text to append for an entry (empty if the note has it already), and the entry's lines, from 1."""

    added: str
    start_line: int
    end_line: int


def local_time(now_ms: int, time_zone: str | None) -> datetime:
    """Return a time in the user's time zone."""
    if time_zone is None:
        return datetime.fromtimestamp(now_ms / 1000).astimezone()
    return datetime.fromtimestamp(now_ms / 1000, ZoneInfo(time_zone))


def day_of(text: str) -> date | None:
    """Return the day of a text YYYY-MM-DD; None if it is none."""
    if _DATE.fullmatch(text) is None:
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if day.year >= MIN_YEAR else None


def note_path(day: date, slug: str = "", folder: str = "memory") -> str:
    """Return the path of a note below the workspace."""
    return f"{folder}/{day.isoformat()}{'-' if slug else ''}{slug}.md"


def clean_entry(text: str) -> str:
    r"""Return a text that is safe between other entries.

    Line endings become `\n`, surrounding blank lines and control characters are removed, an open code fence or comment
    is closed, and text that looks like a key comment is escaped.
    """
    text = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    lines = text.rstrip().split("\n")
    first = next((at for at, line in enumerate(lines) if line.strip()), len(lines))
    text = "\n".join(lines[first:])
    return _closed(_FORGED.sub(r"<\\!--", text))


def entry_for(held: str, day: date, text: str, key: str | None) -> DailyEntry:
    """Return the text to append to a daily note for an entry."""
    known = None if key is None else known_entry(held, text, key)
    if known is not None:
        return known
    lead = "" if not held or held.endswith("\n") else "\n"  # `writing.append` ends a line left open
    gap = "\n"
    if not held.strip():
        gap = f"# {day.isoformat()}\n\n"
    elif held.endswith(("\n\n", "\n\r\n")):
        gap = ""
    start = (held + lead + gap).count("\n") + 1
    added = f"{gap}{text}\n" + ("" if key is None else f"{_mark(key)}\n")
    return DailyEntry(added, start, start + text.count("\n"))


def known_entry(held: str, text: str, key: str) -> DailyEntry | None:
    """Return the entry with a key in a note; None if the note has none."""
    known = _find_marked(held, _mark(key), text)
    return None if known is None else DailyEntry("", *known)


def around(today: date) -> list[date]:
    """Return the days whose notes may have the key of an entry of today: today first.

    Earlier days, because a program may repeat a request after midnight; the next day, because the user's time zone may
    change.
    """
    shifts = (0, *(-back for back in range(1, KEY_DAYS + 1)), 1)
    return [today + timedelta(days=shift) for shift in shifts if 0 < today.toordinal() + shift <= _LAST_DAY]


def _mark(key: str) -> str:
    """Return the comment line below an entry with a key."""
    return f"<!-- memd:key={key} -->"


def _find_marked(held: str, mark: str, text: str) -> tuple[int, int] | None:
    """Return the lines of the entry above a key comment; None without that comment.

    If the entry has the same text, its lines; else, as after an edit, its last paragraph.
    """
    lines = [line.removesuffix("\r") for line in held.split("\n")]
    if mark not in lines:
        return None
    end = lines.index(mark)
    wanted = text.split("\n")
    start = end - len(wanted)
    if start < 0 or lines[start:end] != wanted:
        start = end
        while start > 0 and lines[start - 1].strip() and not lines[start - 1].startswith("<!-- memd:"):
            start -= 1
    return start + 1, max(end, start + 1)


def _closed(text: str) -> str:
    """Return a text with an open code fence or comment closed."""
    fence, comment = "", False
    for line in text.split("\n"):
        if comment:
            comment = "-->" not in line
        elif fence:
            fence = "" if is_end(line, fence) else fence
        elif _COMMENT.match(line) is not None:
            comment = "-->" not in line
        else:
            fence = fence_of(line)
    return text + (f"\n{fence}" if fence else "\n-->" if comment else "")
