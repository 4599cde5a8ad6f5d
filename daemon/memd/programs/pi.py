"""Conversations of pi, and of omp, which continues it."""

from __future__ import annotations

from memd.programs.lines import LinesTable, Record, TreeReader
from memd.programs.program import TranscriptFile
from memd.programs.records import part_of, text_of
from memd.programs.tool_calls import read_openclaw
from memd.programs.work import WorkReader


class PiReader(TreeReader, WorkReader):
    """Reads a transcript. A fork begins with copies, which are older than its first record."""

    def __init__(self, file: TranscriptFile, table: LinesTable) -> None:
        super().__init__(file, table)
        self._forked_ms = 0

    def is_foreign(self, record: Record) -> bool:
        """Return whether a record is a copy."""
        return (self.table.time_of(record) or self._forked_ms) < self._forked_ms

    def note(self, record: Record, kind: str, time_ms: int | None) -> None:
        """Note what a record says about the session; the first one names the file of its parent."""
        super().note(record, kind, time_ms)
        parent = text_of(record.get("parentSession")) if kind == "session" else ""
        if parent:
            self.session.parent = parent.rpartition("/")[2].removesuffix(".jsonl").rpartition("_")[2]
            self._forked_ms = time_ms or 0

    def take(self, record: Record, kind: str, place: int) -> None:
        """Read a record; its calls and results are OpenClaw's."""
        super().take(record, kind, place)
        if self.work is not None and not self.is_foreign(record):
            read_openclaw(self.work, record, place)

    def skip(self, kind: str, record: Record) -> None:
        """Count a record of an unknown type, or a message of an unknown role."""
        super().skip(
            f"role.{text_of(part_of(record, 'message.role'))}" if kind == "message" else kind, record
        )
