"""Conversations of DeepSeek Harness: a log of events, by default in Zstandard frames."""

from __future__ import annotations

from memd.programs.lines import LinesReader, LinesTable, Record
from memd.programs.program import TranscriptFile
from memd.programs.records import part_of, text_of


class DeepseekReader(LinesReader):
    """Reads a log. Pieces of an answer count only if its turn ended without the whole of it."""

    def __init__(self, file: TranscriptFile, table: LinesTable) -> None:
        super().__init__(file, table)
        self._pieces = ""
        self._copied = 0
        """The number of events at the beginning that were copied from the session that this one continues."""

    def take(self, record: Record, kind: str, place: int) -> None:
        """Read a record."""
        match kind:
            case "session":
                copied = record.get("seedLength")
                self._copied = copied if isinstance(copied, int) else 0
                if record.get("delegationDepth") not in (None, 0) or record.get("origin") == "subagent":
                    self.session.kind = "subagent"
            case "assistant/chunk" if part_of(record, "data.chunk.type") == "text-delta":
                self._pieces += text_of(part_of(record, "data.chunk.text"))
            case "text-chunks":
                texts = part_of(record, "data.texts")
                self._pieces += "".join(map(text_of, texts if isinstance(texts, list) else ()))
            case "assistant/message":
                self._pieces = ""
            case "step/start" | "turn/end":
                self.say("assistant", self._pieces, place, "", self.table.time_of(record))
                self._pieces = ""
        super().take(record, kind, place)

    def is_foreign(self, record: Record) -> bool:
        """Return whether an event is a copy."""
        number = record.get("seq", record.get("seq0"))
        return isinstance(number, int) and number < self._copied
