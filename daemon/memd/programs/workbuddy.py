"""Conversations of WorkBuddy: messages and calls of functions."""

from __future__ import annotations

from typing import Final

from memd.programs.blocks import visible_text
from memd.programs.lines import ID, Form, LinesFiles, LinesReader, Record
from memd.programs.records import text_of, time_ms_of

_KNOWN_TYPES: Final = frozenset(
    "file-history-snapshot function_call function_call_result reasoning topic".split()
)


class WorkBuddyReader(LinesReader):
    """Reads a session."""

    def take(self, record: Record, place: int) -> None:
        """Read a record."""
        role, time_ms = record.get("role"), time_ms_of(record.get("timestamp"))
        self.session.note_time(time_ms)
        self.session.cwd = self.session.cwd or text_of(record.get("cwd"))
        if record.get("type") != "message":
            self.skip(record.get("type"), _KNOWN_TYPES)
        elif role == "user" or role == "assistant":
            self.say(role, visible_text(record.get("content")), place, record.get("id"), time_ms)


READER: Final = LinesFiles(
    WorkBuddyReader,
    Form(rf".+/{ID}\.jsonl"),
    Form(rf".+/{ID}/subagents/{ID}\.jsonl", "subagent"),
)
