"""Lines of the daemon's log as records: parsed, judged by level, and worded. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from memd.cli.lines import Line, Piece, line
from memd.cli.wording import printable

LEVELS = ("debug", "info", "warning", "error", "critical")
STYLE_OF_LEVEL = {"debug": "quiet", "info": "good", "warning": "warn", "error": "bad", "critical": "bad"}

TIME_WIDTH = 21
"""Columns: `2026-11-22 04:12:33` and two of air."""

BODY_INDENT = 4
"""Columns before the lines of a traceback."""

SYSLOG_LEVELS = ("critical", "critical", "critical", "error", "warning", "info", "info", "debug")
"""Levels of the journal's priorities, 0 to 7."""


@dataclass(frozen=True, slots=True)
class Record:
    """One line of the log.

    `facts` are what an event has beside its time, level and name. A line that is no event, such as one of a
    traceback, has only its `text`, and neither time nor level.
    """

    text: str
    event: str = ""
    level: str = ""
    time: str = ""
    facts: Mapping[str, object] | None = None

    def is_at_least(self, level: str) -> bool:
        """Return whether a reader of this level wants it; what has no level may be a traceback and is wanted always."""
        return self.level not in LEVELS or LEVELS.index(self.level) >= LEVELS.index(level)

    def as_document(self) -> dict[str, object]:
        """Return it as a value for JSON, with the keys of the log itself."""
        if self.facts is None:
            moment: dict[str, object] = {"timestamp": self.time, "level": self.level} if self.time else {}
            return moment | {"text": self.text}
        return {"timestamp": self.time, "level": self.level, "event": self.event, **self.facts}


def parse_line(text: str) -> Record:
    """Return a line of a log file as a record; whatever it holds."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return Record(text)
    if not isinstance(found, dict) or not isinstance(found.get("event"), str):
        return Record(text)
    facts = {name: value for name, value in found.items() if name not in ("event", "level", "timestamp")}
    level, time = found.get("level", ""), found.get("timestamp", "")
    return Record(text, found["event"], str(level), str(time), facts)


def parse_journal(text: str) -> Record | None:
    """Return an entry of the journal, as its JSON output has it, as a record; None for what is no entry.

    The daemon's own lines are events; the rest is what the service manager says of it.
    """
    try:
        entry = json.loads(text)
        message = entry["MESSAGE"]
        if isinstance(message, list):  # bytes that are not UTF-8
            message = bytes(message).decode("utf-8", "replace")
        record = parse_line(message)
        if record.facts is not None or entry.get("_COMM") != "systemd":
            return record
        moment = datetime.fromtimestamp(int(entry["__REALTIME_TIMESTAMP"]) / 1e6).astimezone()
        return Record(message, "", SYSLOG_LEVELS[int(entry.get("PRIORITY", 6))], moment.isoformat())
    except (ValueError, LookupError, TypeError, OverflowError, RecursionError):
        return None


def journal_cursor(text: str) -> str:
    """Return the place of an entry in the journal, from which following goes on; empty where it has none."""
    try:
        return str(json.loads(text)["__CURSOR"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""


def record_lines(record: Record, local: Callable[[datetime], datetime] = datetime.astimezone) -> list[Line]:
    """Return a record as lines: time, level, event and facts; a traceback below it."""
    if record.facts is None and not record.time:
        return [line((record.text, "quiet"))]
    head = (_shown_time(record.time, local), "label")
    pieces: list[Piece] = [(f"{record.level:<9}", STYLE_OF_LEVEL.get(record.level, "quiet"))]
    if record.facts is None:
        return [Line((*pieces, record.text), TIME_WIDTH, head)]
    pieces.append((record.event, "title"))
    below: list[Line] = []
    for name, value in record.facts.items():
        if isinstance(value, str) and "\n" in value:
            below += [line((each, "quiet"), indent=BODY_INDENT) for each in value.splitlines()]
        elif value not in (None, ""):
            pieces += [(f"  {name}=", "quiet"), _shown(value)]
    return [Line(tuple(pieces), TIME_WIDTH, head), *below]


def _shown(value: object) -> str:
    """Return a fact as text: words with space between them stand in quotes."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False) if not value or any(map(str.isspace, value)) else value
    return printable(json.dumps(value, ensure_ascii=False, default=str))


def _shown_time(text: str, local: Callable[[datetime], datetime]) -> str:
    """Return a moment in the reader's time, to the second; as it came where it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text[:TIME_WIDTH]
    return local(moment).strftime("%Y-%m-%d %H:%M:%S")
