"""Conversations of Kimi CLI: the events on its wire, or the model's context in sessions of older releases."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from memd.programs.blocks import visible_text
from memd.programs.conversation import Session
from memd.programs.lines import ID, Details, Form, LinesFiles, LinesReader, Record, field, read_json
from memd.programs.records import text_of, time_ms_of
from memd.programs.small_files import paths_in

_KNOWN_TYPES: Final = frozenset(
    """ApprovalRequest ApprovalRequestResolved ApprovalResponse BtwBegin BtwEnd CompactionBegin CompactionEnd
    HookRequest HookResolved HookTriggered MCPLoadingBegin MCPLoadingEnd MCPStatusSnapshot Notification PlanDisplay
    QuestionRequest StatusUpdate StepBegin StepInterrupted StepRetry SubagentEvent ToolCall ToolCallPart ToolCallRequest
    ToolResult TurnEnd""".split()
)
_KNOWN_ROLES: Final = frozenset("_checkpoint _system_prompt _usage system tool".split())


class KimiCliReader(LinesReader):
    """Reads a file of either kind."""

    def take(self, record: Record, place: int) -> None:
        """Read a record: of the wire with a `message`, of the context with a `role`."""
        kind, role = field(record, "message.type"), record.get("role")
        seconds = record.get("timestamp")
        time_ms = time_ms_of(seconds * 1000) if isinstance(seconds, (int, float)) else None
        self.session.note_time(time_ms)
        match kind:
            case "TurnBegin" | "SteerInput":
                self.say(
                    "user", visible_text(field(record, "message.payload.user_input")), place, "", time_ms
                )
            case "ContentPart":
                self.say("assistant", visible_text(field(record, "message.payload")), place, "", time_ms)
            case None if role == "user" or role == "assistant":
                self.say(role, visible_text(record.get("content")), place)
            case None if record.get("type") != "metadata":
                self.skip(role or record.get("type"), _KNOWN_ROLES)
            case str():
                self.skip(kind, _KNOWN_TYPES)


class KimiCli(LinesFiles):
    """Kimi CLI's folder of sessions, below a folder for each working directory, which is named by a hash."""

    def read_details(self, folder: Path, session_id: str) -> Session | None:
        """Return the title in the session's state, and the working directory that has the folder's hash."""
        details = super().read_details(folder, session_id)
        name = next(
            (os.path.basename(path) for path in paths_in(folder) if os.path.isdir(f"{path}/{session_id}")), ""
        )
        listed = (
            field(read_json(f"{folder.parent}/kimi.json"), "work_dirs")
            if re.fullmatch(ID, session_id)
            else None
        )
        paths = [text_of(field(entry, "path")) for entry in (listed if isinstance(listed, list) else [])]
        cwd = next((path for path in paths if path and name.endswith(_hash_of(path))), "")
        return replace(details or Session(session_id), cwd=cwd) if details or cwd else None


def _hash_of(path: str) -> str:
    return hashlib.md5(path.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


READER: Final = KimiCli(
    KimiCliReader,
    Form(rf"[0-9a-z_]+/{ID}/wire\.jsonl", rank=2),
    Form(rf"[0-9a-z_]+/{ID}/context\.jsonl", rank=1),
    Form(rf"[0-9a-z_]+/{ID}\.jsonl"),
    Form(rf"[0-9a-z_]+/{ID}/subagents/{ID}/wire\.jsonl", "subagent"),
    details=Details("*/{id}/state.json", title=("custom_title",)),
)
