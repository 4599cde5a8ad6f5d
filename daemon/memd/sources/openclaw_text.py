"""The text of a transcript: redacted, one line per message, extended as the transcript grows."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

from memd.sources.read import FileText, Reset
from memd.system.safe_open import FileStat
from memd.text.redact.secrets import redact
from memd.text.transcripts.messages import read_record


@dataclass(slots=True)
class TranscriptText:
    """The text of a transcript, as far as it was read.

    Attributes:
        text: One line per message.
        numbers: For each line, the number of the record it came from.
        redactions: Number of redacted secrets.
        resets: Resets between conversations, in order.
        record_lines: For each record of the last conversation that has an id, its line, or the next one.
    """

    text: str = ""
    numbers: array[int] = field(default_factory=lambda: array("q"))
    redactions: int = 0
    resets: tuple[Reset, ...] = ()
    record_lines: dict[str, int] = field(default_factory=dict)

    def file_text(self, digest: str, stat: FileStat) -> FileText:
        """Return the text as a `FileText` with the given hash and stat."""
        return FileText(self.text, digest, *stat, tuple(self.numbers), self.redactions, self.resets)

    def with_records(self, records: Iterable[tuple[int, str]]) -> TranscriptText:
        """Return the text extended by further records; this object stays unchanged."""
        lines = [self.text] if self.numbers else []
        numbers = self.numbers[:]
        redactions = self.redactions
        resets, record_lines = list(self.resets), dict(self.record_lines)
        for number, record in records:
            line, record_id, is_reset, first_kept, at_ms = read_record(record)
            next_line = len(numbers) + 1
            if is_reset:
                first = record_lines.get(first_kept, next_line)
                resets.append(Reset(next_line, first, at_ms))
                record_lines = {each: at for each, at in record_lines.items() if at >= first}
            elif record_id:
                record_lines[record_id] = next_line
            if line is not None:
                line, count = redact(line)
                lines.append(line)
                numbers.append(number)
                redactions += count
        return TranscriptText("\n".join(lines), numbers, redactions, tuple(resets), record_lines)
