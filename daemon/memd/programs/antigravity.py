"""Conversations of Antigravity: the steps of a session."""

from __future__ import annotations

import re
from typing import Final

from memd.programs.blocks import visible_text
from memd.programs.lines import ID, Form, LinesFiles, LinesReader, Record
from memd.programs.records import time_ms_of

_KNOWN_SOURCES: Final = frozenset("MODEL SYSTEM SYSTEM_SDK USER_EXPLICIT USER_IMPLICIT".split())
_REQUEST: Final = re.compile(r"\s*<USER_REQUEST>(.*?)</USER_REQUEST>", re.S)
_ADDED: Final = re.compile(r"<(ADDITIONAL_METADATA|USER_SETTINGS_CHANGE)>.*?(?:</\1>|\Z)", re.S)


class AntigravityReader(LinesReader):
    """Reads a session. Only the steps that a user sent, and the model's responses, are messages."""

    def take(self, record: Record, place: int) -> None:
        """Read a record."""
        source, time_ms = record.get("source"), time_ms_of(record.get("created_at"))
        self.session.note_time(time_ms)
        self.skip(source, _KNOWN_SOURCES)
        text = visible_text(record.get("content"))
        if source == "USER_EXPLICIT":
            wrapped = _REQUEST.match(text)
            self.say("user", _ADDED.sub("", wrapped[1] if wrapped else text), place, "", time_ms)
        elif source == "MODEL" and record.get("type") == "PLANNER_RESPONSE":
            self.say("assistant", text, place, "", time_ms)


READER: Final = LinesFiles(AntigravityReader, Form(rf"{ID}/\.system_generated/logs/transcript\.jsonl"))
