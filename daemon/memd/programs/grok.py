"""Conversations of Grok Build: updates of the Agent Client Protocol."""

from __future__ import annotations

from typing import Final

from memd.programs.conversation import Role
from memd.programs.lines import ID, Details, Form, LinesFiles, LinesReader, Record, field
from memd.programs.program import TranscriptFile
from memd.programs.records import is_marked, text_of, time_ms_of

_KNOWN_UPDATES: Final = frozenset(
    """agent_thought_chunk available_commands_update background_tasks config_option_update current_mode_update plan
    session_info_update tool_call tool_call_update turn_completed usage_update""".split()
)


class GrokReader(LinesReader):
    """Reads a file of updates. A fork begins with copies, whose ids begin with that of their session."""

    def __init__(self, file: TranscriptFile) -> None:
        super().__init__(file)
        self._turn: tuple[object, object] | None = None
        """Whose message in which turn the last update was a piece of."""
        self._pieces = ""
        self._is_said = False

    def take(self, record: Record, place: int) -> None:
        """Read a record."""
        update, meta = field(record, "params.update"), field(record, "params._meta")
        kind, key = field(update, "sessionUpdate"), text_of(field(meta, "eventId"))
        if key and not key.startswith(text_of(field(record, "params.sessionId"))):
            return
        time_ms = time_ms_of(field(meta, "agentTimestampMs"))
        self.session.note_time(time_ms)
        piece = text_of(field(update, "content.text"))
        match kind:
            case "user_message_chunk":
                if not is_marked(field(update, "_meta.hostTurn")):
                    prompt = field(update, "_meta.promptIndex")
                    self._add("user", prompt, f"{piece}\n", place, key, time_ms)
            case "agent_message_chunk":
                self._add("assistant", field(meta, "promptId"), piece, place, key, time_ms)
            case _:
                self._turn = None
                self.skip(kind, _KNOWN_UPDATES)

    def _add(self, role: Role, turn: object, piece: str, place: int, key: str, time_ms: int | None) -> None:
        """Add a piece of a message to what precedes it, or begin a message."""
        if self._turn != (role, turn):
            self._turn, self._pieces, self._is_said = (role, turn), "", False
        elif self._is_said:
            before = self.messages.pop()
            place, key, time_ms = before.place, before.key, before.time_ms
        self._pieces += piece
        self._is_said = self.say(role, self._pieces, place, key, time_ms)


READER: Final = LinesFiles(
    GrokReader,
    Form(rf".+/{ID}/updates\.jsonl"),
    details=Details(
        "*/{id}/summary.json",
        title=("generated_title", "session_summary"),
        cwd=("info.cwd",),
        parent=("parent_session_id",),
        started=("created_at",),
        updated=("updated_at",),
        kind="session_kind",
        kinds={"headless": "machine", "subagent": "subagent"},
    ),
)
