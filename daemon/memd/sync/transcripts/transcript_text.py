"""The text of a transcript: redacted, one line per message, extended as the transcript grows."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, TypeVar

from memd.sync.disk.read import FileText, Reset
from memd.text.redact.secrets import redact
from memd.text.transcripts.messages import read_record

State = TypeVar("State")

KEPT_TRANSCRIPTS = 4
"""Transcripts whose state is cached, so that only additions are read. More concurrent conversations are rare, and a
state may take some MB."""


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

    def file_text(self, digest: str, mtime_ns: int, size: int, inode: int, ctime_ns: int) -> FileText:
        """Return the text as a `FileText` with the given hash and stat."""
        return FileText(
            self.text,
            digest,
            mtime_ns,
            size,
            inode,
            ctime_ns,
            tuple(self.numbers),
            self.redactions,
            self.resets,
        )

    def with_records(self, records: Iterable[tuple[int, str]]) -> TranscriptText:
        """Return the text extended by further records; this object stays unchanged."""
        lines = [self.text] if self.numbers else []
        numbers = self.numbers[:]
        redactions = self.redactions
        resets, record_lines = list(self.resets), dict(self.record_lines)
        for number, record in records:
            line, record_id, is_reset, first_kept = read_record(record)
            next_line = len(numbers) + 1
            if is_reset:
                first = record_lines.get(first_kept, next_line)
                resets.append(Reset(next_line, first))
                record_lines = {each: at for each, at in record_lines.items() if at >= first}
            elif record_id:
                record_lines[record_id] = next_line
            if line is not None:
                line, count = redact(line)
                lines.append(line)
                numbers.append(number)
                redactions += count
        return TranscriptText("\n".join(lines), numbers, redactions, tuple(resets), record_lines)


class StateCache(Generic[State]):
    """Cache of the states of recently loaded transcripts. `take` removes a state, so one thread at a time owns it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._states: OrderedDict[str, State] = OrderedDict()

    def __repr__(self) -> str:
        return f"<StateCache {len(self._states)} transcripts>"

    def take(self, path: str) -> State | None:
        """Remove and return a transcript's state, or None."""
        with self._lock:
            return self._states.pop(path, None)

    def keep(self, path: str, state: State) -> None:
        """Store a transcript's state, evicting the least recently used one."""
        with self._lock:
            self._states[path] = state
            self._states.move_to_end(path)
            while len(self._states) > KEPT_TRANSCRIPTS:
                self._states.popitem(last=False)

    def clear(self) -> None:
        """Remove all states."""
        with self._lock:
            self._states.clear()
