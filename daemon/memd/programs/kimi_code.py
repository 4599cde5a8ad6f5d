"""Conversations of Kimi Code: the events of an agent's context."""

from __future__ import annotations

from memd.programs.lines import LinesReader, Record, Table, field
from memd.programs.program import TranscriptFile
from memd.programs.records import is_marked, text_of


class KimiCodeReader(LinesReader):
    """Reads an agent's file. An undo goes back to a prompt, but not beyond a cleared or compacted context."""

    def __init__(self, file: TranscriptFile, table: Table) -> None:
        super().__init__(file, table)
        self._turns: list[int] = []
        """The number of messages before each prompt that can be undone."""

    def take(self, record: Record, kind: str, place: int) -> None:
        """Read a record."""
        match kind:
            case "context.append_message" if _begins_turn(record.get("message")):
                self._turns.append(len(self.messages))
            case "context.undo":
                count = record.get("count")
                if isinstance(count, int) and 0 < count <= len(self._turns):
                    del self.messages[self._turns[-count] :], self._turns[-count:]
            case "context.clear" | "context.apply_compaction":
                self._turns.clear()
            case "context.append_loop_event":
                kind = f"event.{text_of(field(record, 'event.type'))}"
            case "forked":  # all records before it are copies
                self.messages.clear()
                self._turns.clear()
        super().take(record, kind, place)


def _begins_turn(message: object) -> bool:
    """Return whether a message of the role user is a prompt that can be undone: typed, or a command that was chosen."""
    origin = field(message, "origin")
    is_chosen = field(origin, "kind") in ("skill_activation", "plugin_command")
    is_chosen = is_chosen and field(origin, "trigger") == "user-slash"
    is_typed = origin is None or field(origin, "kind") == "user"
    is_in_turn = is_marked(field(origin, "inTurn"))
    return field(message, "role") == "user" and (is_typed or is_chosen) and not is_in_turn
