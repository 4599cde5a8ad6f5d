"""Transcripts of Codex CLI: `rollout-*.jsonl` of both modes, legacy and paginated."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from memd.programs.codex_conversation import CodexConversation, answer_text, is_injected, person_text
from memd.programs.codex_forks import ForkedLines
from memd.programs.codex_titles import CodexTitles
from memd.programs.conversation import Conversation, Role, Session, SessionKind
from memd.programs.program import FileReader, TranscriptFile, session_of
from memd.programs.records import (
    count_unknown,
    decode_record,
    is_utf8,
    text_of,
    time_ms_of,
    title_of,
)
from memd.programs.tool_calls import USER_SHELL, read_codex
from memd.programs.work import TOOLS, WorkReader

_HEAD = re.compile(
    rb'\s*\{"timestamp":\s?"([^"\\]*)",\s?(?:"ordinal":\s?(\d{1,18}),\s?)?"type":\s?"([a-z_]+)",\s?'
    rb'"payload":\s?\{(?:"type":\s?"([a-z_]+)")?'
)
"""The beginning of a line as Codex writes it: time, ordinal, type, and type of the payload."""

_ITEM = re.compile(rb'"item":\s?\{"type":\s?"([A-Za-z]+)"')
ITEM_HEAD_BYTES: Final = 400
"""How far from its beginning the item of a line is searched for."""

_MESSAGE_ITEMS: Final = frozenset({"UserMessage", "AgentMessage"})

_KNOWN_TYPES: Final = frozenset(
    "session_meta response_item event_msg turn_context compacted world_state inter_agent_communication"
    " inter_agent_communication_metadata token_usage_record ghost_snapshot".split()
)
_MESSAGE_EVENTS: Final = frozenset(
    "user_message agent_message item_completed task_started turn_started task_complete turn_complete turn_aborted"
    " thread_rolled_back thread_name_updated".split()
)
_KNOWN_EVENTS: Final = _MESSAGE_EVENTS | frozenset(
    "agent_reasoning agent_reasoning_raw_content agent_reasoning_section_break apply_patch_approval_request"
    " background_event collab_agent_interaction_end collab_agent_spawn_end collab_close_end collab_resume_end"
    " collab_waiting_end context_compacted deprecation_notice dynamic_tool_call_request dynamic_tool_call_response"
    " elicitation_request entered_review_mode error exec_approval_request exec_command_begin exec_command_end"
    " exited_review_mode guardian_assessment guardian_warning hook_completed hook_started image_generation_end"
    " item_started mcp_tool_call_begin mcp_tool_call_end model_reroute patch_apply_begin patch_apply_end plan_update"
    " request_permissions request_user_input safety_buffering session_configured shutdown_complete stream_error"
    " sub_agent_activity terminal_interaction thread_goal_updated thread_settings_applied token_count turn_diff"
    " undo_completed undo_started view_image_tool_call warning web_search_begin web_search_end".split()
)
_KNOWN_ITEMS: Final = _MESSAGE_ITEMS | frozenset(
    "CollabAgentToolCall CommandExecution ContextCompaction DynamicToolCall EnteredReviewMode ExitedReviewMode"
    " FileChange HookPrompt ImageGeneration ImageView McpToolCall Plan Reasoning Sleep SubAgentActivity"
    " WebSearch".split()
)
_BARE_ITEMS: Final = frozenset(
    "reasoning function_call function_call_output local_shell_call custom_tool_call custom_tool_call_output".split()
)
"""Types of lines without an envelope, which releases of early 2025 wrote, other than messages."""

_MACHINE_THREADS: Final = frozenset({"memory_consolidation", "automation", "scheduled"})


class _Line(msgspec.Struct):
    timestamp: Any = None
    ordinal: Any = None
    type: Any = None
    payload: msgspec.Raw = msgspec.Raw(b"")
    id: Any = None
    role: Any = None
    record_type: Any = None


class _Payload(msgspec.Struct):
    """The fields of all payloads that are read."""

    type: Any = None
    message: Any = None
    kind: Any = None
    item: msgspec.Raw = msgspec.Raw(b"")
    role: Any = None
    content: Any = None
    turn_id: Any = None
    num_turns: Any = None
    thread_name: Any = None
    cwd: Any = None


class _Item(msgspec.Struct):
    type: Any = None
    id: Any = None
    content: Any = None


class _Meta(msgspec.Struct):
    id: Any = None
    timestamp: Any = None
    cwd: Any = None
    source: Any = None
    thread_source: Any = None
    parent_thread_id: Any = None
    forked_from_id: Any = None
    git: Any = None
    cli_version: Any = None
    subagent_history_start_ordinal: Any = None


_line = msgspec.json.Decoder(_Line)
_payload = msgspec.json.Decoder(_Payload)
_item = msgspec.json.Decoder(_Item)
_meta = msgspec.json.Decoder(_Meta)


class CodexReader(WorkReader):
    """Reads a transcript (a `TranscriptReader`).

    The conversation is in events; only in a file without such events it is taken from the messages sent to the model.
    """

    def __init__(self, file: TranscriptFile) -> None:
        self._session = session_of(file)
        self._has_meta = False
        self._events = CodexConversation()
        self._sent = CodexConversation()
        self._has_events = False
        self._forked = ForkedLines()
        self._stamp = ""
        self._result = Conversation(self._session)

    def read(self, line: bytes, place: int) -> None:
        """Read the next line; see `TranscriptReader.read`."""
        head = _HEAD.match(line)
        if head is not None:
            stamp, ordinal, kind, payload_kind = head.groups()
            self._stamp = stamp.decode("utf-8", "replace")
            name = (payload_kind or b"").decode()
            if self._is_skipped(kind.decode(), name, line):
                is_work = name in TOOLS["codex"]["calls"] or kind == b"turn_context" or USER_SHELL in line
                has_work = self.work is not None and is_work
                if self._forked.is_open or has_work:
                    number, time_ms = int(ordinal) if ordinal else None, time_ms_of(self._stamp)
                    is_copied = self._forked.is_copied(time_ms, number, place)
                    if self.work is not None and has_work and not is_copied:
                        read_codex(self.work, line, place, time_ms)
                return
        record = decode_record(line, _line)
        if record is None or not is_utf8(line):  # a damaged byte may be one of what marks a machine's text
            self._result.broken += bool(line.strip())
            return
        if isinstance(record.timestamp, str):
            self._stamp = record.timestamp
        if not bytes(record.payload):
            self._read_bare(record, line, place)
        elif record.type == "session_meta":
            self._read_meta(bytes(record.payload), record.timestamp)
        elif isinstance(record.type, str) and record.type in _KNOWN_TYPES:
            self._read_payload(record, line, place)
        else:
            self._count(record.type)

    def conversation(self) -> Conversation:
        """Return the conversation; see `TranscriptReader.conversation`."""
        messages = (self._events if self._has_events else self._sent).messages()
        last = messages[-1].time_ms if messages else None
        session = replace(
            self._session, updated_ms=time_ms_of(self._stamp) or last or self._session.started_ms
        )
        return Conversation(session, messages, self._result.unknown.copy(), self._result.broken)

    def _is_skipped(self, kind: str, payload_kind: str, line: bytes) -> bool:
        """Return whether a usual line has no part of the conversation: most bytes are skipped undecoded."""
        if kind == "response_item":
            return self._has_events or payload_kind != "message"
        if kind == "event_msg" and payload_kind == "item_completed":
            item = _ITEM.search(line, 0, ITEM_HEAD_BYTES)
            name = item[1].decode() if item is not None else ""
            return name in _KNOWN_ITEMS and name not in _MESSAGE_ITEMS
        if kind == "event_msg":
            return payload_kind in _KNOWN_EVENTS and payload_kind not in _MESSAGE_EVENTS
        if kind == "turn_context":
            return bool(self._session.cwd) and not self._forked.is_open
        return kind in _KNOWN_TYPES and kind != "session_meta"

    def _count(self, *names: object) -> None:
        """Count a record of an unknown type."""
        name = "/".join(each if isinstance(each, str) else type(each).__name__ for each in names)
        count_unknown(self._result.unknown, name)

    # --- the session --------------------------------------------------------------------------------

    def _read_meta(self, payload: bytes, stamp: object) -> None:
        """Read what a file says about its session; only the first record counts, the others are of its sources."""
        meta = decode_record(payload, _meta)
        if meta is None:
            self._result.broken += 1
            return
        if self._has_meta:
            if isinstance(meta.id, str) and meta.id != self._session.id:
                self._forked.open(time_ms_of(stamp))
            return
        self._has_meta = True
        spawn = _spawn_of(meta.source)
        started_ms = time_ms_of(meta.timestamp) or time_ms_of(stamp)
        self._session = Session(
            id=meta.id if isinstance(meta.id, str) and meta.id else self._session.id,
            kind=_kind_of(meta, self._session.kind),
            parent=_first_text(meta.parent_thread_id, spawn, meta.forked_from_id),
            title=self._session.title,
            cwd=_first_text(meta.cwd, self._session.cwd),
            branch=_first_text(meta.git.get("branch")) if isinstance(meta.git, dict) else "",
            started_ms=started_ms,
            release=text_of(meta.cli_version),
        )
        self._forked.begin(self._session.id, started_ms, meta.subagent_history_start_ordinal)

    def _read_bare(self, record: _Line, line: bytes, place: int) -> None:
        """Read a line without an envelope, as releases of early 2025 wrote it."""
        if record.type == "message":
            self._read_sent(decode_record(line, _payload), record, place)
        elif record.type is None and isinstance(record.id, str) and not self._has_meta:
            self._read_meta(line, record.timestamp)
        elif record.record_type is None and not (isinstance(record.type, str) and record.type in _BARE_ITEMS):
            self._count(record.type)

    # --- the conversation -----------------------------------------------------------------------------------

    def _read_payload(self, record: _Line, line: bytes, place: int) -> None:
        """Read the payload of a line of a known type."""
        payload = decode_record(bytes(record.payload), _payload)
        if payload is None:
            self._result.broken += 1
            return
        kind = text_of(payload.type)
        if record.type == "turn_context" or kind in ("task_started", "turn_started"):
            self._forked.enter_turn(payload.turn_id)
        is_copied = self._forked.is_copied(time_ms_of(record.timestamp), record.ordinal, place)
        if self.work is not None and not is_copied:
            read_codex(self.work, line, place, time_ms_of(record.timestamp))
        if record.type == "response_item" and kind == "message":
            self._read_sent(payload, record, place, is_copied=is_copied)
        elif record.type == "turn_context":
            if not is_copied and not self._session.cwd:
                self._session.cwd = _first_text(payload.cwd)
        elif record.type == "event_msg":
            self._read_event(kind, payload, record, place, is_copied=is_copied)

    def _read_event(
        self, kind: str, payload: _Payload, record: _Line, place: int, *, is_copied: bool
    ) -> None:
        """Read an event of the conversation; copied ones only show that the file has events."""
        time_ms = time_ms_of(record.timestamp)
        if kind in ("user_message", "agent_message"):
            role: Role = "user" if kind == "user_message" else "assistant"
            self._has_events = True
            text = text_of(payload.message)
            if role == "user" and payload.kind not in (None, "plain"):
                text = ""
            if not is_copied:
                self._events.add(role, _words(role, text), place, time_ms, form=kind)
        elif kind == "item_completed":
            self._read_item(decode_record(bytes(payload.item), _item), time_ms, place, is_copied=is_copied)
        elif kind not in _KNOWN_EVENTS:
            self._count("event_msg", payload.type)
        elif is_copied:
            return
        elif kind in ("task_started", "turn_started"):
            self._events.begin_turn()
            self._sent.begin_turn()
        elif kind in ("task_complete", "turn_complete", "turn_aborted"):
            self._events.end_turn()
            self._sent.end_turn()
        elif kind == "thread_rolled_back":
            self._events.roll_back(payload.num_turns)
            self._sent.roll_back(payload.num_turns)
        elif kind == "thread_name_updated" and isinstance(payload.thread_name, str):
            self._session.title = title_of(payload.thread_name)

    def _read_item(self, item: _Item | None, time_ms: int | None, place: int, *, is_copied: bool) -> None:
        """Read an item of paginated mode."""
        if item is None or not isinstance(item.type, str) or item.type not in _MESSAGE_ITEMS:
            if item is None or not isinstance(item.type, str) or item.type not in _KNOWN_ITEMS:
                self._count("item", item.type if item is not None else None)
            return
        self._has_events = True
        if is_copied:
            return
        role: Role = "user" if item.type == "UserMessage" else "assistant"
        text = "\n".join(each for kind, each in _texts(item.content) if kind.lower() == "text")
        self._events.add(role, _words(role, text), place, time_ms, form=item.type, key=text_of(item.id))

    def _read_sent(
        self, payload: _Payload | None, record: _Line, place: int, *, is_copied: bool = False
    ) -> None:
        """Read a message sent to or from the model: a person's only without the injected texts."""
        if payload is None or is_copied or self._has_events:
            return
        time_ms = time_ms_of(record.timestamp)
        texts = _texts(payload.content)
        if payload.role == "assistant":
            text = "\n".join(each for kind, each in texts if kind == "output_text")
            self._sent.add("assistant", answer_text(text), place, time_ms)
        elif payload.role == "user":
            said = [each for kind, each in texts if kind == "input_text" and not is_injected(each)]
            self._sent.add("user", person_text("\n".join(said)), place, time_ms)


def _words(role: Role, text: str) -> str:
    """Return the words of a person or an answer in a text."""
    return person_text(text) if role == "user" else answer_text(text)


def _texts(content: object) -> list[tuple[str, str]]:
    """Return the parts of a message that have text, each with its type."""
    if not isinstance(content, list):
        return []
    return [
        (part["type"], part["text"])
        for part in content
        if isinstance(part, dict) and isinstance(part.get("type"), str) and isinstance(part.get("text"), str)
    ]


def _first_text(*values: object) -> str:
    """Return the first text that isn't empty."""
    return next((value for value in values if isinstance(value, str) and value), "")


def _spawn_of(source: object) -> object:
    """Return the id of the session that a `source` names as the one that spawned it."""
    for name in ("subagent", "thread_spawn", "parent_thread_id"):
        source = source.get(name) if isinstance(source, dict) else None
    return source


def _kind_of(meta: _Meta, default: SessionKind) -> SessionKind:
    """Return the kind of a session by its `thread_source` and `source`."""
    if meta.thread_source == "subagent":
        return "subagent"
    if isinstance(meta.source, dict):
        if "custom" in meta.source and meta.thread_source == "user":
            return default
        return "machine" if meta.source.keys() & {"internal", "custom"} else "subagent"
    if isinstance(meta.thread_source, str) and meta.thread_source in _MACHINE_THREADS:
        return "machine"
    return "machine" if meta.source == "exec" else default


# --- the program ------------------------------------------------------------------------------------

_NAME = re.compile(r"rollout-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)-([0-9A-Za-z][0-9A-Za-z-]{0,99})\.jsonl(\.zst)?")
_FOLDER = re.compile(r"(?:archived_sessions|(?:sessions/?)?(?:\d{4}(?:/\d\d){0,2})?)")
"""A folder of transcripts, from Codex's home or from its folder `sessions`."""


class Codex(FileReader):
    """Codex's home, which has the transcripts and the file of titles."""

    def __init__(self) -> None:
        self._titles = CodexTitles()

    def open(self, file: TranscriptFile) -> CodexReader:
        """Return a reader."""
        return CodexReader(file)

    def transcript_at(self, path: str) -> TranscriptFile | None:
        """Return the transcript at a path: a later file of a session ranks before, then the plain one."""
        folder, _, name = path.rpartition("/")
        found = _NAME.fullmatch(name)
        if found is None or _FOLDER.fullmatch(folder) is None:
            return None
        written = int(re.sub(r"\D", "", found[1]))
        return TranscriptFile(found[2], rank=2 * written + (found[3] is None))

    def is_walked(self, path: str) -> bool:
        """Return whether a folder may contain transcripts."""
        return _FOLDER.fullmatch(path) is not None

    def read_details(self, folder: Path, session_id: str) -> Session | None:
        """Return the last title of a session in `session_index.jsonl`."""
        title = self._titles.read(folder).get(session_id)
        return None if title is None else Session(id=session_id, title=title)


READER: Final = Codex()
