"""Conversations of Cursor's command line, in files.

A person's words are in `<user_query>`, and other tags are context that Cursor adds. If a file has none, as in print
mode, a text that doesn't open with a tag is the person's. Answers mix in commentary, which is not marked and stays.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from memd.programs.conversation import Conversation, Message, Role, Session
from memd.programs.program import FileReader, TranscriptFile, TranscriptReader, session_of
from memd.programs.records import count_unknown, decode_record, is_set, is_utf8, time_ms_of
from memd.programs.small_files import paths_in, read_small_file
from memd.programs.work import WorkReader
from memd.text.transcripts.tags import opens_with_tag

_OPENING, _CLOSING = "<user_query>", "</user_query>"
_TIMESTAMP = re.compile(r"\s*<timestamp>[^<]{0,200}</timestamp>")
_SUMMARY = "[Previous conversation summary]"
"""Beginning of a message that replaces a long conversation."""

_KNOWN_TYPES: Final = frozenset("turn_started turn_ended".split())
_KNOWN_ROLES: Final = frozenset("system tool".split())
_KNOWN_BLOCKS: Final = frozenset("tool_use tool_result thinking redacted_thinking image".split())
_MACHINE = ("[Thinking]", "[Tool call]", "[Tool result]")


class _Block(msgspec.Struct):
    type: str
    text: object = None
    id: object = None
    name: object = None
    input: object = None


class _Content(msgspec.Struct):
    content: str | list[_Block] | None = None


class _Line(msgspec.Struct):
    role: str = ""
    type: str = ""
    message: _Content | None = None


class _Meta(msgspec.Struct):
    """A session's `meta.json`."""

    title: object = None
    cwd: object = None
    createdAtMs: object = None  # noqa: N815 - Cursor's names
    updatedAtMs: object = None  # noqa: N815
    isSubagent: object = None  # noqa: N815


_line = msgspec.json.Decoder(_Line)
_meta = msgspec.json.Decoder(_Meta)


class CursorJsonReader(WorkReader):
    """Reads a transcript of JSON lines (a `TranscriptReader`)."""

    def __init__(self, file: TranscriptFile) -> None:
        self._conversation = Conversation(session_of(file))
        self._messages: list[Message] = []
        self._untagged: set[int] = set()
        self._has_tags = False

    def read(self, line: bytes, place: int) -> None:
        """Read the next line; see `TranscriptReader.read`."""
        if not line.strip():
            return
        record = decode_record(line, _line) if is_utf8(line) else None
        if record is None:
            self._conversation.broken += 1
        elif record.role in ("user", "assistant"):
            content = record.message.content if record.message is not None else None
            texts = [content] if isinstance(content, str) else self._texts(content or ())
            if record.role == "user":
                self._add_user(texts, place)
            else:
                self._add("assistant", "\n".join(texts), place)
                for block in content if isinstance(content, list) else ():
                    if self.work is not None and block.type == "tool_use":  # results are in a database alone
                        self.work.call(block.name, block.input, place, call=block.id, time_ms=None)
        elif record.type not in _KNOWN_TYPES and record.role not in _KNOWN_ROLES:
            count_unknown(self._conversation.unknown, record.type or record.role)

    def conversation(self) -> Conversation:
        """Return the conversation; see `TranscriptReader.conversation`."""
        if self._has_tags and self._untagged:
            self._messages = [each for each in self._messages if each.place not in self._untagged]
            self._untagged.clear()
        self._conversation.messages = self._messages
        return self._conversation

    def _texts(self, blocks: Sequence[_Block]) -> list[str]:
        for block in blocks:
            if block.type != "text" and block.type not in _KNOWN_BLOCKS:
                count_unknown(self._conversation.unknown, f"block {block.type}")
        return [block.text for block in blocks if block.type == "text" and isinstance(block.text, str)]

    def _add_user(self, texts: Sequence[str], place: int) -> None:
        queries = [query for text in texts for query in queries_in(text)]
        if queries:
            self._has_tags = True
        elif not self._has_tags:
            queries = [_TIMESTAMP.sub("", text, count=1) for text in texts]
            queries = [text for text in queries if not opens_with_tag(text) and not text.startswith(_SUMMARY)]
            self._untagged.add(place)
        self._add("user", "\n".join(queries), place)

    def _add(self, role: Role, text: str, place: int) -> None:
        if text.strip():
            self._messages.append(Message(role, text.strip(), place))


class CursorTextReader:
    """Reads a transcript as text, which old releases wrote (a `TranscriptReader`).

    A line `user:` or `assistant:` begins a message. After a line that begins thinking or a tool call, the rest of an
    answer is left out, because their ends are not marked.
    """

    def __init__(self, file: TranscriptFile) -> None:
        self._session = session_of(file)
        self._messages: list[Message] = []
        self._role: Role | None = None
        self._place = 0
        self._lines: list[str] = []
        self._is_machine = False
        self._in_query = False

    def read(self, line: bytes, place: int) -> None:
        """Read the next line; see `TranscriptReader.read`."""
        text = line.decode("utf-8", "replace").rstrip("\r")
        if text in ("user:", "assistant:") and not self._in_query:
            self._messages += self._open_message()
            self._role = "user" if text == "user:" else "assistant"
            self._place, self._lines, self._is_machine = place, [], False
            return
        if self._role == "user":
            opening, closing = text.rfind(_OPENING), text.rfind(_CLOSING)
            self._in_query = opening > closing or (self._in_query and closing < 0)
        elif text.startswith(_MACHINE):
            self._is_machine = True
        if not self._is_machine:
            self._lines.append(text)

    def conversation(self) -> Conversation:
        """Return the conversation; see `TranscriptReader.conversation`."""
        return Conversation(self._session, [*self._messages, *self._open_message()])

    def _open_message(self) -> list[Message]:
        """Return the message that is being read, if it has words."""
        if self._role is None:
            return []
        said = "\n".join(self._lines)
        if self._role == "user":
            said = "\n".join(queries_in(said))
        return [Message(self._role, said.strip(), self._place)] if said.strip() else []


def queries_in(text: str) -> list[str]:
    """Return the contents of `<user_query>` in a text; one without an end goes up to the end of the text."""
    queries = []
    at = 0
    while (start := text.find(_OPENING, at)) >= 0:
        start += len(_OPENING)
        end = text.find(_CLOSING, start)
        end = len(text) if end < 0 else end
        queries.append(text[start:end].strip())
        at = end
    return queries


class Cursor(FileReader):
    """Cursor's folder of projects."""

    def transcript_at(self, path: str) -> TranscriptFile | None:
        """Return the transcript at a path: `<id>/<id>.jsonl` ranks before `<id>.jsonl` and `.txt`."""
        match path.split("/"):
            case [_, "agent-transcripts", name]:
                session_id, ending = os.path.splitext(name)
                rank = 2
            case [_, "agent-transcripts", folder, name]:
                session_id, ending = os.path.splitext(name)
                rank = 3
                if folder != session_id:
                    return None
            case [_, "agent-transcripts", _, "subagents", name]:
                session_id, ending = os.path.splitext(name)
                return (
                    TranscriptFile(session_id, "subagent", 3) if session_id and ending == ".jsonl" else None
                )
            case _:
                return None
        if not session_id or ending not in (".jsonl", ".txt"):
            return None
        return TranscriptFile(session_id, rank=rank if ending == ".jsonl" else rank - 2)

    def is_walked(self, path: str) -> bool:
        """Return whether a folder may contain transcripts."""
        match path.split("/"):
            case [_] | [_, "agent-transcripts"] | [_, "agent-transcripts", _]:
                return True
            case [_, "agent-transcripts", _, "subagents"]:
                return True
            case _:
                return False

    def open(self, file: TranscriptFile) -> TranscriptReader:
        """Return a new reader; the two ranks below 2 are those of text."""
        return CursorJsonReader(file) if file.rank >= 2 else CursorTextReader(file)

    def read_details(self, folder: Path, session_id: str) -> Session | None:
        """Return what `chats/<workspace>/<id>/meta.json` says about a session; one attempt to open per workspace."""
        newest = None
        for workspace in paths_in(folder.parent / "chats"):
            meta = decode_record(read_small_file(os.path.join(workspace, session_id, "meta.json")), _meta)
            if meta is None:
                continue
            session = Session(
                id=session_id,
                kind="subagent" if is_set(meta.isSubagent) else "main",
                title=meta.title if isinstance(meta.title, str) else "",
                cwd=meta.cwd if isinstance(meta.cwd, str) else "",
                started_ms=time_ms_of(meta.createdAtMs),
                updated_ms=time_ms_of(meta.updatedAtMs),
            )
            if newest is None or (session.updated_ms or 0) > (newest.updated_ms or 0):
                newest = session
        return newest


READER: Final = Cursor()
