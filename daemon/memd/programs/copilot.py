"""Conversations of Copilot CLI: events in files that are appended to.

Undone events stay in the file: a later event says from which one on they are void.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

import msgspec

from memd.programs.conversation import Conversation, Message, Role, Session
from memd.programs.program import FileReader, TranscriptFile, session_of
from memd.programs.records import (
    count_unknown,
    decode_record,
    is_marked,
    is_utf8,
    session_title,
    text_of,
    time_ms_of,
    title_of,
)
from memd.programs.small_files import read_small_file
from memd.programs.tool_calls import read_copilot
from memd.programs.work import WorkReader
from memd.text.transcripts.injected import without_injected
from memd.text.transcripts.tags import opens_with_tag

_KNOWN_TYPES: Final = frozenset(
    """abort assistant.idle assistant.intent assistant.message_delta assistant.message_start assistant.reasoning
    assistant.reasoning_delta assistant.streaming_delta assistant.turn_end assistant.turn_start assistant.usage
    pending_messages.modified session.background_tasks_changed session.binary_asset
    session.auto_mode_resolved session.autopilot_objective_changed session.canvas.recorded session.canvas.removed
    session.compaction_complete session.compaction_start session.custom_agents_updated session.custom_notification
    session.error session.extensions_loaded session.handoff session.idle session.import_legacy session.info
    session.managed_settings_resolved session.mcp_server_status_changed session.mcp_servers_loaded
    session.memory_changed session.mode_changed session.model_change session.permissions_changed
    session.plan_changed session.remote_steerable_changed session.schedule_cancelled session.schedule_created
    session.schedule_rearmed session.session_limits_changed session.shutdown session.skills_loaded
    session.task_complete session.tools_updated session.truncation session.usage_checkpoint session.usage_info
    session.usage_record session.warning session.workspace_file_changed""".split()
)
_KNOWN_FAMILIES: Final = frozenset(
    """auto_mode_switch capabilities command commands elicitation exit_plan_mode external_tool hook mcp model permission
    sampling session_limits_exhausted skill subagent system tool user_input""".split()
)
"""What precedes the point in types of events without words of people or answers."""

_CONTEXTS: Final = frozenset(("session.start", "session.resume", "session.context_changed"))
_HEADLESS: Final = "You are running in non-interactive mode"
"""What Copilot tells the model in a session without a person. A person who resumes it gets another text."""

_REMINDERS: Final = ("<system_reminder>", "<reminder>")
"""Begin what is appended to a prompt."""

SESSION_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,119}")
_EVENTS, SUFFIX = "events.jsonl", ".jsonl"


class _Event(msgspec.Struct, rename="camel", gc=False):
    type: object = None
    id: object = None
    timestamp: object = None
    agent_id: object = None
    data: msgspec.Raw = msgspec.Raw()


class _Data(msgspec.Struct, rename="camel", gc=False):
    """Fields of the events that are read. Any may have any type."""

    content: object = None
    source: object = None
    is_autopilot_continuation: object = None
    parent_tool_call_id: object = None
    up_to_event_id: object = None
    title: object = None
    context: object = None
    copilot_version: object = None
    cwd: object = None
    branch: object = None


_event = msgspec.json.Decoder(_Event)
_data = msgspec.json.Decoder(_Data)


class CopilotReader(WorkReader):
    """Reads a file of events (a `TranscriptReader`)."""

    def __init__(self, file: TranscriptFile) -> None:
        self._session = session_of(file)
        self._conversation = Conversation(self._session)
        self._numbers: dict[str, int] = {}
        self._count = 0
        self._messages: list[tuple[int, Message]] = []
        self._title = ""
        self._modes: set[bool] = set()
        """Whether prompts were a person's, as Copilot told the model."""

    def read(self, line: bytes, place: int) -> None:
        """Read the next line; see `TranscriptReader.read`."""
        if not line.strip():
            return
        event = decode_record(line, _event)
        if event is None:
            self._conversation.broken += 1
            return
        self._count += 1
        if isinstance(event.id, str) and self._numbers.setdefault(event.id, self._count) != self._count:
            return  # a repeated line
        self._session.note_time(_time_of(event))
        kind = text_of(event.type)
        if self.work is not None and not is_marked(event.agent_id):
            read_copilot(self.work, kind, bytes(event.data), place, _time_of(event))
        match kind:
            case "user.message" | "assistant.message":
                self._read_message(event, line, place)
            case "session.snapshot_rewind":
                self._rewind(event)
            case "session.title_changed":
                data = decode_record(bytes(event.data), _data)
                self._title = (title_of(text_of(data.title)) if data is not None else "") or self._title
            case "system.message" if not is_marked(event.agent_id):
                self._modes.add(_HEADLESS not in bytes(event.data).decode("utf-8", "replace"))
            case _ if kind in _CONTEXTS:
                self._note_context(event)
            case _:
                if kind not in _KNOWN_TYPES and kind.partition(".")[0] not in _KNOWN_FAMILIES:
                    count_unknown(self._conversation.unknown, kind)

    def conversation(self) -> Conversation:
        """Return the conversation; see `TranscriptReader.conversation`."""
        messages = [message for _, message in self._messages]
        prompts = (each.text for each in messages if each.role == "user")
        self._session.title = session_title(self._title, prompts)
        self._session.kind = "machine" if self._modes == {False} else "main"
        self._conversation.messages = messages
        return self._conversation

    def _read_message(self, event: _Event, line: bytes, place: int) -> None:
        data = decode_record(bytes(event.data), _data)
        if data is None or not is_utf8(line):
            self._conversation.broken += 1
            return
        if is_marked(event.agent_id) or is_marked(data.parent_tool_call_id):
            return
        role: Role = "user" if event.type == "user.message" else "assistant"
        text = text_of(data.content).strip()
        if role == "user":
            text = "" if _is_machine(data) else _words_in(text)
        if text:
            message = Message(role, text, place, text_of(event.id), _time_of(event))
            self._messages.append((self._count, message))

    def _rewind(self, event: _Event) -> None:
        """Remove the messages from an undone event on; an unknown event is one that the file no longer has."""
        data = decode_record(bytes(event.data), _data)
        undone = self._numbers.get(text_of(data.up_to_event_id)) if data is not None else None
        if undone is None or is_marked(event.agent_id):
            return
        while self._messages and self._messages[-1][0] >= undone:
            self._messages.pop()

    def _note_context(self, event: _Event) -> None:
        data = decode_record(bytes(event.data), _data)
        if data is None or is_marked(event.agent_id):
            return
        context = data.context if isinstance(data.context, dict) else {"cwd": data.cwd, "branch": data.branch}
        self._session.cwd = self._session.cwd or text_of(context.get("cwd"))
        self._session.branch = text_of(context.get("branch")) or self._session.branch
        self._session.release = text_of(data.copilot_version) or self._session.release


class Copilot(FileReader):
    """Copilot CLI's folder of sessions."""

    def open(self, file: TranscriptFile) -> CopilotReader:
        """Return a reader."""
        return CopilotReader(file)

    def transcript_at(self, path: str) -> TranscriptFile | None:
        """Return the transcript at a path: `<session>/events.jsonl`; old releases wrote `<session>.jsonl`."""
        match path.split("/"):
            case [session, name] if name == _EVENTS and SESSION_NAME.fullmatch(session):
                return TranscriptFile(session, rank=1)
            case [name] if name.endswith(SUFFIX) and SESSION_NAME.fullmatch(name.removesuffix(SUFFIX)):
                return TranscriptFile(name.removesuffix(SUFFIX))
            case _:
                return None

    def is_walked(self, path: str) -> bool:
        """Return whether a folder may contain transcripts."""
        return "/" not in path

    def read_details(self, folder: Path, session_id: str) -> Session | None:
        """Return the name and folder in `<session>/workspace.yaml`."""
        if not SESSION_NAME.fullmatch(session_id):
            return None
        content = read_small_file(str(folder / session_id / "workspace.yaml"))
        if content is None:
            return None
        values = _yaml_values(content.decode("utf-8", "replace"))
        title = title_of(values.get("name") or values.get("summary", ""))
        return Session(session_id, title=title, cwd=values.get("cwd", ""), branch=values.get("branch", ""))


def _is_machine(data: _Data) -> bool:
    """Return whether a record of a prompt is marked as a machine's: a skill's, another agent's or autopilot's."""
    return is_marked(data.is_autopilot_continuation) or data.source not in (None, "", "user")


def _words_in(text: str) -> str:
    """Return a prompt without what was added to it."""
    ends = [end for mark in _REMINDERS if (end := text.find(mark)) >= 0]
    words = without_injected(text[: min(ends)] if ends else text).strip()
    return "" if opens_with_tag(words) else words


def _time_of(event: _Event) -> int | None:
    return time_ms_of(event.timestamp) if isinstance(event.timestamp, str) else None


_YAML_LINE = re.compile(r"([a-z_]+):[ \t]*(.*)")
_YAML_QUOTED = re.compile(r"'((?:[^']|'')*)'")
_YAML_BLOCK = re.compile(r"[|>][-+0-9]{0,2}")


def _yaml_values(text: str) -> dict[str, str]:
    """Return the texts at the top level of a YAML file: plain, quoted, or as an indented block."""
    values: dict[str, str] = {}
    block = ""
    for line in text.splitlines():
        found = _YAML_LINE.fullmatch(line)
        if found is None:
            if block and line.startswith((" ", "\t")):
                values[block] = f"{values[block]} {line.strip()}".strip()
            continue
        key, value = found[1], found[2].strip()
        block = key if not value or _YAML_BLOCK.fullmatch(value) else ""
        values[key] = "" if block else _yaml_text(value)
    return values


def _yaml_text(value: str) -> str:
    """Return a text of one line without its quotes or the comment behind it."""
    if value.startswith("'"):
        quoted = _YAML_QUOTED.match(value)
        return quoted[1].replace("''", "'") if quoted else value[1:]
    if value.startswith('"'):
        try:
            read, _ = json.JSONDecoder().raw_decode(value)
        except ValueError:
            return value.strip('"')
        return text_of(read).encode("utf-8", "replace").decode()
    plain = value.split(" #", 1)[0].rstrip()
    return "" if plain in ("null", "~") else plain


READER: Final = Copilot()
