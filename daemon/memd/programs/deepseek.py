"""Conversations of DeepSeek Harness: a log of events, by default in Zstandard frames."""

from __future__ import annotations

from typing import Final

from memd.programs.blocks import visible_text
from memd.programs.lines import ID, Form, LinesFiles, LinesReader, Record, field
from memd.programs.program import TranscriptFile
from memd.programs.records import text_of, time_ms_of

_KNOWN_FAMILIES: Final = frozenset(
    """agent agent-preset approval command compaction feedback goal hook llm permission plan request sandbox schedule
    session step subagent team todo tool tool-workflow turn web""".split()
)
"""What precedes the slash in types of events without words of a user or an answer."""

_KNOWN_TYPES: Final = frozenset("assistant/chunk reasoning-chunks tool-call-chunks".split())


class DeepseekReader(LinesReader):
    """Reads a log. Pieces of an answer count only if its turn ended without the whole of it."""

    def __init__(self, file: TranscriptFile) -> None:
        super().__init__(file)
        self._pieces = ""
        self._copied = 0
        """The number of events at the beginning that were copied from the session that this one continues."""

    def take(self, record: Record, place: int) -> None:
        """Read a record."""
        kind, data = record.get("type"), record.get("data")
        time_ms = time_ms_of(record.get("time"))
        number = record.get("seq", record.get("seq0"))
        if kind == "session":
            self._read_header(record)
        elif isinstance(number, int) and number < self._copied:
            return
        self.session.note_time(time_ms)
        match kind:
            case "session":
                pass
            case "user/message":
                if field(data, "source.kind") == "user" and field(data, "role") in (None, "user"):
                    self.say("user", visible_text(field(data, "content")), place, field(data, "id"), time_ms)
            case "assistant/message":
                message = field(data, "message")
                self.say(
                    "assistant", visible_text(field(message, "content")), place, field(message, "id"), time_ms
                )
                self._pieces = ""
            case "assistant/chunk" if field(data, "chunk.type") == "text-delta":
                self._pieces += text_of(field(data, "chunk.text")) or text_of(field(data, "chunk.delta"))
            case "text-chunks":
                texts = field(data, "texts")
                self._pieces += "".join(map(text_of, texts if isinstance(texts, list) else []))
            case "step/start" | "turn/end":
                self.say("assistant", self._pieces, place, "", time_ms)
                self._pieces = ""
            case "session/title":
                self.name(field(data, "title"))
            case _ if not isinstance(kind, str) or kind.partition("/")[0] not in _KNOWN_FAMILIES:
                self.skip(kind, _KNOWN_TYPES)

    def _read_header(self, record: Record) -> None:
        """Read the first record."""
        session, depth, copied = self.session, record.get("delegationDepth"), record.get("seedLength")
        session.cwd = text_of(record.get("cwd"))
        session.parent = text_of(record.get("parentSession"))
        session.note_time(time_ms_of(record.get("createdAt")))
        self._copied = copied if isinstance(copied, int) else 0
        if depth not in (None, 0) or record.get("origin") == "subagent":
            session.kind = "subagent"


READER: Final = LinesFiles(
    DeepseekReader,
    Form(rf".+/{ID}/session\.jsonl\.zstd", rank=1),
    Form(rf".+/{ID}/session\.jsonl"),
)
