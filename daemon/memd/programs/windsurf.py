"""Conversations of Windsurf, which writes them once a hook asks for transcripts."""

from __future__ import annotations

from typing import Final

from memd.programs.lines import ID, Form, LinesFiles, LinesReader, Record, field
from memd.programs.records import text_of


class WindsurfReader(LinesReader):
    """Reads a session. A record of a step has the step's fields under the name of its type."""

    def take(self, record: Record, place: int) -> None:
        """Read a record."""
        self.say("user", text_of(field(record, "user_input.user_response")), place)
        self.say("assistant", text_of(field(record, "planner_response.response")), place)
        self.skip(record.get("type"), record.keys())


READER: Final = LinesFiles(WindsurfReader, Form(rf"{ID}\.jsonl"))
