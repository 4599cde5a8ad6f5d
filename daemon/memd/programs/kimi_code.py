"""Conversations of Kimi Code: the events of an agent's context."""

from __future__ import annotations

from typing import Final

from memd.programs.blocks import visible_text
from memd.programs.lines import ID, Details, Form, LinesFiles, LinesReader, Record, field
from memd.programs.program import TranscriptFile
from memd.programs.records import is_marked, time_ms_of

_KNOWN_TYPES: Final = frozenset(
    """context.append_loop_event context.append_message context.apply_compaction context.clear context.undo
    context.undone context.update_token_count forked metadata turn.cancel turn.ended turn.prompt turn.steer
    turn.step.interrupted turn.step.retrying""".split()
)
_KNOWN_FAMILIES: Final = frozenset(
    """agent config cron file_history full_compaction goal interaction interruptionReminder llm mcp micro_compaction
    permission plan plan_mode plugin profile prompt runtime staleGuard subagent swarm_mode task token_counting tools
    tower_mode usage""".split()
)
"""What precedes the point in types of events without words of a user or an answer."""

_KNOWN_EVENTS: Final = frozenset("content.part step.begin step.end tool.call tool.result".split())


class KimiCodeReader(LinesReader):
    """Reads an agent's file. An undo goes back to a prompt, but not beyond a cleared or compacted context."""

    def __init__(self, file: TranscriptFile) -> None:
        super().__init__(file)
        self._turns: list[int] = []
        """The number of messages before each prompt that can be undone."""

    def take(self, record: Record, place: int) -> None:
        """Read a record."""
        kind, time_ms = record.get("type"), time_ms_of(record.get("time"))
        self.session.note_time(time_ms)
        match kind:
            case "context.append_message":
                self._read_message(record.get("message"), place, time_ms)
            case "context.append_loop_event":
                event = record.get("event")
                if field(event, "type") == "content.part":
                    self.say(
                        "assistant", visible_text(field(event, "part")), place, field(event, "uuid"), time_ms
                    )
                self.skip(field(event, "type"), _KNOWN_EVENTS)
            case "context.undo":
                count = record.get("count")
                if isinstance(count, int) and 0 < count <= len(self._turns):
                    del self.messages[self._turns[-count] :]
                    del self._turns[-count:]
            case "context.clear" | "context.apply_compaction":
                self._turns.clear()
            case "forked":  # all records before it are copies
                self.messages.clear()
                self._turns.clear()
            case _ if not isinstance(kind, str) or kind.partition(".")[0] not in _KNOWN_FAMILIES:
                self.skip(kind, _KNOWN_TYPES)

    def _read_message(self, message: object, place: int, time_ms: int | None) -> None:
        """Read a message of the role user: a prompt, or text that Kimi Code adds."""
        origin = field(message, "origin")
        by = "user" if origin is None else field(origin, "kind")
        is_chosen = by in ("skill_activation", "plugin_command") and field(origin, "trigger") == "user-slash"
        if field(message, "role") != "user" or not (by == "user" or is_chosen):
            return
        if not is_marked(field(origin, "inTurn")):
            self._turns.append(len(self.messages))
        if by == "user":
            self.say("user", visible_text(field(message, "content")), place, field(message, "id"), time_ms)


READER: Final = LinesFiles(
    KimiCodeReader,
    Form(rf".+/{ID}/agents/main/wire\.jsonl"),
    Form(rf".+/{ID}/agents/(agent-.+)/wire\.jsonl", "subagent"),
    details=Details(
        "*/{id}/state.json",
        title=("title",),
        cwd=("cwd", "workDir"),
        parent=("forkedFrom",),
        started=("createdAt",),
        updated=("updatedAt",),
    ),
)
