"""Conversations of Grok Build: updates of the Agent Client Protocol, which has messages in pieces."""

from __future__ import annotations

from types import NoneType

from memd.programs.conversation import Role
from memd.programs.lines import LinesReader, LinesTable, Record, first_text
from memd.programs.program import TranscriptFile
from memd.programs.records import part_of, text_of


class GrokReader(LinesReader):
    """Reads a file of updates. A fork begins with copies, whose ids begin with that of their session."""

    def __init__(self, file: TranscriptFile, table: LinesTable) -> None:
        super().__init__(file, table)
        self._turn = ""
        """The type and the turn of the last update."""
        self._pieces, self._is_said = "", False
        self._starts: dict[int, int] = {}
        """The number of messages before each prompt, by its number."""

    def take(self, record: Record, kind: str, place: int) -> None:
        """Read a record. A rewind goes back to before a prompt."""
        turn = part_of(record, "params.update._meta.promptIndex"), part_of(record, "params._meta.promptId")
        name = f"{kind} {turn[0] if kind == 'user_message_chunk' else turn[1]}"
        if name != self._turn:
            self._turn, self._pieces, self._is_said = name, "", False
        target = part_of(record, "params.update.target_prompt_index")
        if kind == "user_message_chunk" and isinstance(turn[0], int):
            self._starts.setdefault(turn[0], len(self.messages))
        elif kind == "rewind_marker" and isinstance(target, int):
            undone = [number for number in self._starts if number >= target]
            del self.messages[min(map(self._starts.pop, undone), default=len(self.messages)) :]
        super().take(record, kind, place)

    def is_foreign(self, record: Record) -> bool:
        """Return whether a record is a copy, or damaged where it may be marked as a machine's."""
        key, marks = first_text(record, self.table.key), part_of(record, "params.update._meta")
        is_copy = bool(key) and not key.startswith(text_of(part_of(record, "params.sessionId")))
        return is_copy or not isinstance(marks, (dict, NoneType))

    def say(self, role: Role, text: str, place: int, key: str, time_ms: int | None) -> bool:
        """Add a piece to the message before it, or begin a message."""
        if self._is_said:
            _, _, place, key, time_ms, _ = self.messages.pop()
        self._pieces += f"{text}\n" if role == "user" else text
        self._is_said = super().say(role, self._pieces, place, key, time_ms)
        return self._is_said
