"""Transcripts of Gemini CLI: records that are folded, and older single documents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from memd.programs.conversation import Conversation, Message, Session
from memd.programs.fetched import ATTACHMENT
from memd.programs.gemini_projects import find_project_folder
from memd.programs.program import FileReader, TranscriptFile, session_of
from memd.programs.records import (
    count_unknown,
    decode_record,
    is_utf8,
    time_ms_of,
    title_of,
)
from memd.programs.tool_calls import read_gemini
from memd.programs.work import WorkReader

_KNOWN_TYPES: Final = frozenset({"user", "gemini", "info", "error", "warning"})

_HOOK: Final = ("<hook_context>", "</hook_context>")
_FILES: Final = ("--- Content from referenced files ---", "--- End of content ---")
"""Marks around files that a prompt names with `@`, which Gemini CLI adds to it."""

_NO_PERSON: Final = (
    "/",
    "?",
    "<session_context>",
    "<state_snapshot>",
    "This is the Gemini CLI. We are setting up the context for our chat.",
    "I ran the following shell command:",
    "System: Please continue.",
)
"""How a text of type `user` begins that isn't a person's words: commands, and texts of Gemini CLI."""

_AFTER_SUMMARY: Final = "Got it. Thanks for the additional context"
"""How the answer begins that Gemini CLI writes after the summary of a compacted conversation."""


class _Record(msgspec.Struct):
    id: Any = None
    timestamp: Any = None
    type: Any = None
    content: Any = None
    displayContent: Any = None  # noqa: N815
    changes: msgspec.Raw = msgspec.field(default=msgspec.Raw(b""), name="$set")
    rewind_to: Any = msgspec.field(default=None, name="$rewindTo")
    sessionId: Any = None  # noqa: N815
    startTime: Any = None  # noqa: N815
    lastUpdated: Any = None  # noqa: N815
    kind: Any = None
    summary: Any = None
    messages: msgspec.Raw = msgspec.Raw(b"")
    toolCalls: msgspec.Raw = msgspec.Raw(b"")  # noqa: N815


_record = msgspec.json.Decoder(_Record)
_raw_list = msgspec.json.Decoder(list[msgspec.Raw])


class GeminiReader(WorkReader):
    """Reads a transcript (a `TranscriptReader`).

    Lines of messages are what was said. A message that is first found in a replaced history (`$set`) is suspect: after
    a compaction that is the summary, as an unmarked message of the user. It only marks a place to rewind to. Messages
    that a compaction removed from the history stay: they were said.
    """

    def __init__(self, file: TranscriptFile) -> None:
        self._session = session_of(file)
        self._messages: dict[str, tuple[int, Message | None]] = {}
        """By id, in order: the place of the first record, and the message, None for what is none, or suspect."""
        self._suspect: set[str] = set()
        self._last_ms: int | None = None
        self._unknown: Counter[str] = Counter()
        self._broken = 0

    def read(self, line: bytes, place: int) -> None:
        """Read the next line, or the whole of an older document; see `TranscriptReader.read`."""
        record = decode_record(line, _record)
        if record is None or not is_utf8(line):  # a damaged byte may be one of what marks a machine's text
            self._broken += bool(line.strip())
        elif isinstance(record.rewind_to, str):
            self._rewind(record.rewind_to)
        elif isinstance(record.id, str):
            self._read_message(record, place)
        elif bytes(record.changes):
            self._read_changes(bytes(record.changes))
        elif isinstance(record.sessionId, str):
            self._read_session(record)
            self._read_document(bytes(record.messages))
        else:
            self._count(record.type)

    def conversation(self) -> Conversation:
        """Return the conversation; see `TranscriptReader.conversation`."""
        messages = [message for _, message in self._messages.values() if message is not None]
        times = [each.time_ms for each in messages if each.time_ms is not None]
        session = replace(
            self._session,
            started_ms=self._session.started_ms or (times[0] if times else None),
            updated_ms=max(
                (each for each in (self._session.updated_ms, self._last_ms) if each), default=None
            ),
        )
        return Conversation(session, messages, self._unknown.copy(), self._broken)

    def _count(self, kind: object) -> None:
        """Count a record of an unknown type."""
        count_unknown(self._unknown, kind if isinstance(kind, str) else type(kind).__name__)

    def _read_session(self, record: _Record) -> None:
        """Read the first record of a file, or changes of it."""
        session = self._session
        if isinstance(record.sessionId, str) and record.sessionId:
            session.id = record.sessionId
        if record.kind == "subagent":
            session.kind = "subagent"
        if isinstance(record.summary, str):
            session.title = title_of(record.summary)
        session.started_ms = session.started_ms or time_ms_of(record.startTime)
        session.updated_ms = time_ms_of(record.lastUpdated) or session.updated_ms

    def _read_message(self, record: _Record, place: int) -> None:
        """Read a message; an id that is known is an update of its message, which keeps its place."""
        if not isinstance(record.type, str) or record.type not in _KNOWN_TYPES:
            self._count(record.type)
        time_ms = time_ms_of(record.timestamp)
        self._last_ms = max(time_ms or 0, self._last_ms or 0) or None
        if self.work is not None:
            read_gemini(self.work, bytes(record.toolCalls), place, time_ms)
            quoted = _text_of(record.content).partition(_FILES[0])[2] if record.type == "user" else ""
            self.work.read(ATTACHMENT, quoted, place, time_ms)
        place, known = self._messages.get(record.id, (place, None))
        message = None if record.id in self._suspect else _message_of(record, place, time_ms)
        if message is not None and known is not None and known.time_ms is not None:
            message = message._replace(time_ms=known.time_ms)
        self._messages[record.id] = (place, message)

    def _read_changes(self, data: bytes) -> None:
        """Read a `$set`."""
        changes = decode_record(data, _record)
        if changes is None:
            return
        self._read_session(changes)
        for each in _list_of(bytes(changes.messages)):
            turn = decode_record(bytes(each), _record)
            if turn is not None and isinstance(turn.id, str) and turn.id not in self._messages:
                self._suspect.add(turn.id)
                self._messages[turn.id] = (0, None)

    def _read_document(self, data: bytes) -> None:
        """Read the messages of an older document; the place of each is its number."""
        turns = [decode_record(bytes(each), _record) for each in _list_of(data)]
        summaries = _summaries_in(turns)
        for number, turn in enumerate(turns):
            if turn is None or number in summaries:
                continue
            if not isinstance(turn.id, str):
                turn.id = f"\0{number}"
            self._read_message(turn, number + 1)

    def _rewind(self, message_id: str) -> None:
        """Remove a message and all after it; all messages if it is unknown."""
        if message_id not in self._messages:
            self._messages.clear()
        while self._messages:
            last, _ = self._messages.popitem()
            if last == message_id:
                return


def _list_of(data: bytes) -> list[msgspec.Raw]:
    """Return the elements of a JSON list; none of anything else."""
    return (decode_record(data, _raw_list) or []) if data else []


def _summaries_in(turns: Sequence[_Record | None]) -> set[int]:
    """Return the numbers of turns in a document that are the summary of a compaction, and the answer to it."""
    for number, turn in enumerate(turns):
        if turn is not None and turn.type == "gemini":
            is_compacted = number > 0 and _text_of(turn.content).lstrip().startswith(_AFTER_SUMMARY)
            return {number - 1, number} if is_compacted else set()
    return set()


def _message_of(record: _Record, place: int, time_ms: int | None) -> Message | None:
    """Return the message of a record, None if it has no words of a person and no visible answer."""
    key = record.id if not record.id.startswith("\0") else ""
    if record.type == "gemini":
        text = _text_of(record.content).strip()
        return Message("assistant", text, place, key, time_ms) if text else None
    if record.type != "user":
        return None
    text = _text_of(record.displayContent) if record.displayContent else _text_of(record.content)
    text = _without(_without(text, *_HOOK), *_FILES).strip()
    return Message("user", text, place, key, time_ms) if text and not text.startswith(_NO_PERSON) else None


def _text_of(content: object) -> str:
    """Return the text of a content: a string, a part, or a list of both; thoughts and results of tools are left out."""
    texts = []
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and isinstance(part.get("text"), str) and not part.get("thought"):
            texts.append(part["text"])
    return "".join(texts)


def _without(text: str, opening: str, closing: str) -> str:
    """Return a text without all from the first opening mark to the last closing one; to its end without one."""
    before, found, rest = text.partition(opening)
    if not found:
        return text
    return before + rest.rpartition(closing)[2] if closing in rest else before


# --- the program ------------------------------------------------------------------------------------

_NAME = re.compile(r"([^/]{1,200})\.json(l?)")
SESSION_PREFIX: Final = "session-"


class Gemini(FileReader):
    """Gemini CLI's folder of projects."""

    def open(self, file: TranscriptFile) -> GeminiReader:
        """Return a reader."""
        return GeminiReader(file)

    def transcript_at(self, path: str) -> TranscriptFile | None:
        """Return the transcript at a path; `.jsonl` continues the older `.json` of the same name."""
        match path.split("/"):
            case [_, "chats", name] if name.startswith(SESSION_PREFIX):
                found = _NAME.fullmatch(name)
                return TranscriptFile(found[1], rank=len(found[2])) if found is not None else None
            case [_, "chats", _, name]:
                found = _NAME.fullmatch(name)
                return TranscriptFile(found[1], "subagent", len(found[2])) if found is not None else None
            case _:
                return None

    def is_walked(self, path: str) -> bool:
        """Return whether a folder may contain transcripts."""
        match path.split("/"):
            case [_] | [_, "chats"] | [_, "chats", _]:
                return True
            case _:
                return False

    def read_details(self, folder: Path, session_id: str) -> Session | None:
        """Return the working directory of a session, which its project's files give."""
        cwd = find_project_folder(folder, session_id, has_parent=not session_id.startswith(SESSION_PREFIX))
        return Session(id=session_id, cwd=cwd) if cwd else None


READER: Final = Gemini()
