"""Conversations of Qwen Code: a tree of records, with messages as Google's parts."""

from __future__ import annotations

import re
from typing import Final

from memd.programs.blocks import visible_text
from memd.programs.branches import MESSAGE, OTHER, PROMPT, RecordKind
from memd.programs.conversation import Role
from memd.programs.gemini import FILES_SECTION, without_section
from memd.programs.lines import ID, Form, LinesFiles, Record, TreeReader, field
from memd.programs.records import is_marked, text_of, time_ms_of

_KNOWN_SUBTYPES: Final = frozenset(
    """agent_bootstrap agent_launch_prompt agent_retry agent_session_ready at_command attribution_snapshot
    background_task_completed branch_checkpoint chat_compression cron custom_title file_history_snapshot goal_runtime
    goal_state goal_turn_end mid_turn_user_message notification omni_recall parent_session realtime_message rewind
    session_artifact_event session_artifact_snapshot session_model session_source session_sources_snapshot slash_command
    turn_result ui_telemetry""".split()
)
_SAID: Final = (None, "mid_turn_user_message", "realtime_message")
"""Subtypes of records with words of a user or an answer."""

_HOOK: Final = re.compile(r"<qwen:[a-z-]+-context>.*", re.S)


class QwenReader(TreeReader):
    """Reads a transcript. A rewind begins a new branch."""

    def take(self, record: Record, place: int) -> None:
        """Read a record."""
        kind, subtype = record.get("type"), record.get("subtype")
        self.skip(kind, ("user", "assistant", "tool_result", "system"))
        if is_marked(subtype):
            self.skip(subtype, _KNOWN_SUBTYPES)
        is_copy = is_marked(record.get("forkedFrom"))
        text = _prompt_in(record) if kind == "user" and subtype in _SAID else ""
        is_prompt = (bool(text) and subtype is None) or subtype == "rewind"
        order: RecordKind = PROMPT if is_prompt else OTHER if kind == "system" else MESSAGE
        if not self.grow(record.get("uuid"), record.get("parentUuid"), order, is_prompt=is_prompt):
            return
        self._note(record, subtype, is_copy=is_copy)
        is_agents = is_marked(record.get("isSidechain")) and self.session.kind != "subagent"
        if is_copy or is_agents:
            return
        if kind == "assistant" and subtype in _SAID and field(record, "message.role") in (None, "model"):
            text = visible_text(field(record, "message.parts"), "")
        elif kind != "user":
            return
        role: Role = "user" if kind == "user" else "assistant"
        self.say(role, text, place, record.get("uuid"), time_ms_of(record.get("timestamp")))

    def _note(self, record: Record, subtype: object, *, is_copy: bool) -> None:
        """Note what a record says about the session."""
        session, payload = self.session, record.get("systemPayload")
        if is_copy:
            session.parent = session.parent or text_of(field(record, "forkedFrom.sessionId"))
        else:
            session.note_time(time_ms_of(record.get("timestamp")))
        session.cwd = session.cwd or text_of(record.get("cwd"))
        session.branch = text_of(record.get("gitBranch")) or session.branch
        session.release = text_of(record.get("version")) or session.release
        if subtype == "custom_title":
            self.name(field(payload, "customTitle"))
        elif subtype == "parent_session":
            session.parent = text_of(field(payload, "parentSessionId")) or session.parent


def _prompt_in(record: Record) -> str:
    """Return what a user typed in a record of type `user`; older releases also keep results of tools there."""
    parts = field(record, "message.parts")
    is_result = isinstance(parts, list) and any(field(part, "functionResponse") is not None for part in parts)
    is_typed = record.get("provenance") in (None, "real_user") and field(record, "message.role") in (
        None,
        "user",
    )
    if is_result or not is_typed:
        return ""
    shown = field(record, "systemPayload.displayText")
    text = shown if isinstance(shown, str) else visible_text(parts)
    return without_section(_HOOK.sub("", text), *FILES_SECTION).strip()


READER: Final = LinesFiles(
    QwenReader,
    Form(rf".+/chats/{ID}\.jsonl"),
    Form(rf".+/subagents/{ID}/(agent-.+)\.jsonl", "subagent"),
)
