"""Conversations of Kimi Code, the events of an agent's context, and of Kimi CLI."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from msgspec.structs import replace

from memd.programs.conversation import Session
from memd.programs.lines import LinesFiles, LinesReader, LinesTable, Record
from memd.programs.program import TranscriptFile
from memd.programs.records import is_marked, part_of, text_of
from memd.programs.small_files import paths_in, read_document


class KimiCodeReader(LinesReader):
    """Reads an agent's file. An undo goes back to a prompt, but not beyond a cleared or compacted context."""

    def __init__(self, file: TranscriptFile, table: LinesTable) -> None:
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
                kind = f"event.{text_of(part_of(record, 'event.type'))}"
            case "forked":  # all records before it are copies
                self.messages.clear()
                self._turns.clear()
        super().take(record, kind, place)


def _begins_turn(message: object) -> bool:
    """Return whether a message of the role user is a prompt that can be undone: typed, or a command that was chosen."""
    origin = part_of(message, "origin")
    is_chosen = part_of(origin, "kind") in ("skill_activation", "plugin_command")
    is_chosen = is_chosen and part_of(origin, "trigger") == "user-slash"
    is_typed = origin is None or part_of(origin, "kind") == "user"
    is_in_turn = is_marked(part_of(origin, "inTurn"))
    return part_of(message, "role") == "user" and (is_typed or is_chosen) and not is_in_turn


class KimiCliFiles(LinesFiles):
    """Kimi CLI's folder of sessions, below a folder for each working directory, which is named by a hash."""

    def read_details(self, folder: Path, session_id: str) -> Session | None:
        """Return the title in the session's state, and the working directory that has the folder's hash."""
        details = super().read_details(folder, session_id)
        name = next((path for path in paths_in(folder) if os.path.isdir(f"{path}/{session_id}")), "")
        listed = part_of(read_document(f"{folder.parent}/kimi.json"), "work_dirs") if name else None
        for path in (
            text_of(part_of(entry, "path")) for entry in (listed if isinstance(listed, list) else ())
        ):
            hashed = hashlib.md5(path.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
            if path and name.endswith(hashed):
                return replace(details or Session(session_id), cwd=path)
        return details
