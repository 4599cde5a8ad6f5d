"""Conversations of Claude Code, in files that it appends to.

Left out are copies that a fork or a resume made, the branches that a person abandoned (see `branches`), and the parts
of a session that ran without a person, unless the whole session did.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from memd.programs.branches import (
    FIRST_PROMPT,
    MESSAGE,
    NO_PARENT,
    OTHER,
    PROMPT,
    Branches,
    RecordKind,
)
from memd.programs.claude_records import (
    KNOWN_TYPES,
    ClaudeRecord,
    VisibleText,
    is_headless,
    read_answer,
    read_prompt,
    read_queued_prompt,
    read_record,
)
from memd.programs.conversation import Conversation, Message, Role, Session
from memd.programs.program import FileReader, TranscriptFile, session_of
from memd.programs.records import (
    count_unknown,
    decode_record,
    is_marked,
    session_title,
    text_of,
    time_ms_of,
    title_of,
)
from memd.programs.small_files import paths_in, read_small_file
from memd.programs.tool_calls import read_claude_code
from memd.programs.work import WorkReader

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_AGENT = re.compile(r"agent-[A-Za-z0-9_-]{1,100}")
_SUFFIX = ".jsonl"


class _Part(NamedTuple):
    """A message, or one of the lines of an answer."""

    number: int
    role: Role
    text: str
    place: int
    key: str
    time_ms: int | None
    answer: str
    is_foreign: bool
    is_headless: bool


class _Facts(Session):
    """What records say about their session."""

    def add(self, record: ClaudeRecord) -> None:
        """Add what a record says."""
        if not self.cwd and isinstance(record.cwd, str):
            self.cwd = record.cwd
        if isinstance(record.git_branch, str) and record.git_branch not in ("", "HEAD"):
            self.branch = record.git_branch
        self.release = text_of(record.version) or self.release
        self.note_time(_time_of(record))


class ClaudeCodeReader(WorkReader):
    """Reads a transcript (a `TranscriptReader`)."""

    def __init__(self, file: TranscriptFile) -> None:
        self._session = session_of(file)
        self._is_subagent = file.kind == "subagent"
        self._conversation = Conversation(self._session)
        self._branches = Branches()
        self._parts: list[_Part] = []
        self._titles: dict[str, str] = {}
        self._task = ""
        self._own, self._copied = _Facts(), _Facts()
        self._forked_from = self._resumed_from = ""
        self._relocated = ""
        self._has_own = self._has_person = self._has_headless = self._has_foreign_work = False

    def read(self, line: bytes, place: int) -> None:
        """Read the next line; see `TranscriptReader.read`."""
        if not line.strip():
            return
        record = read_record(line)
        if record is None:
            self._conversation.broken += 1
            return
        said, role = _read_text(record, line)
        if role is None:
            self._read_other(record)
        self._add_record(record, said, role, place)
        self._conversation.broken += said.is_broken
        if said.unknown:
            count_unknown(self._conversation.unknown, said.unknown)

    def conversation(self) -> Conversation:
        """Return the conversation; see `TranscriptReader.conversation`."""
        session = self._session
        facts = self._own if self._has_own or self._copied.updated_ms is None else self._copied
        session.cwd = self._relocated or facts.cwd or self._copied.cwd
        session.branch, session.release = facts.branch or self._copied.branch, facts.release
        session.started_ms, session.updated_ms = facts.started_ms, facts.updated_ms
        resumed_from = self._resumed_from if self._has_own or self._is_subagent else ""
        session.parent = self._forked_from or resumed_from
        if not self._is_subagent:
            session.kind = "machine" if self._has_headless and not self._has_person else "main"
        messages = self._messages()
        prompts = (each.text for each in messages if each.role == "user")
        recorded = (self._titles[kind] for kind in ("custom", "ai", "summary") if kind in self._titles)
        session.title = session_title(next(recorded, ""), prompts) or self._task
        self._conversation.messages = messages
        return self._conversation

    def _add_record(self, record: ClaudeRecord, said: VisibleText, role: Role | None, place: int) -> None:
        """Add a record to the tree and the session, and what it says to the messages."""
        is_sidechain = is_marked(record.is_sidechain)
        is_prompt = said.is_prompt and not is_sidechain
        number = NO_PARENT
        if isinstance(record.uuid, str):
            if self._branches.number_of(record.uuid) is not None:
                return
            kind: RecordKind = (
                PROMPT if is_prompt else MESSAGE if record.type in ("user", "assistant") else OTHER
            )
            number = self._branches.add(record.uuid, self._parent_of(record, is_prompt), kind)
        is_copy, is_foreign = self._note_session(record)
        if is_copy or (is_sidechain and not self._is_subagent):
            return
        if self.work is not None and not (is_foreign and self._has_own):
            if self._has_foreign_work and not is_foreign:
                self.work.clear()
            self._has_foreign_work = is_foreign
            read_claude_code(self.work, record, place, _time_of(record))
        if self._is_subagent and role == "user":
            self._task = self._task or title_of(said.text)  # words of the agent that started it
        elif said.text and role is not None:
            key = record.uuid if isinstance(record.uuid, str) else ""
            part = _Part(
                number=number,
                role=role,
                text=said.text,
                place=place,
                key=key,
                time_ms=_time_of(record),
                answer=said.answer,
                is_foreign=is_foreign,
                is_headless=is_headless(record),
            )
            self._parts.append(part)

    def _parent_of(self, record: ClaudeRecord, is_prompt: bool) -> int:
        """Return the number of a record's parent in the tree."""
        parent = self._branches.number_of(record.parent_uuid)
        if parent is not None:
            return parent
        if record.subtype == "compact_boundary":
            parent = self._branches.number_of(record.logical_parent_uuid)
            return self._branches.newest() if parent is None else parent
        return FIRST_PROMPT if record.parent_uuid is None and is_prompt else NO_PARENT

    def _note_session(self, record: ClaudeRecord) -> tuple[bool, bool]:
        """Note what a record says about the session; return whether it is a copy, and whether of another session.

        Records of another session are those that old releases copied to the beginning of a new file. If all records
        are, the file was renamed, and they are its own.
        """
        is_copy = is_marked(record.forked_from)
        names_other = isinstance(record.session_id, str) and record.session_id != self._session.id
        is_foreign = names_other and not self._is_subagent and not is_copy
        if is_copy and isinstance(record.forked_from, dict):
            self._forked_from = self._forked_from or text_of(record.forked_from.get("sessionId"))
        elif names_other:
            self._resumed_from = self._resumed_from or text_of(record.session_id)
        (self._copied if is_copy or is_foreign else self._own).add(record)
        if not is_copy and not is_foreign and record.type in ("user", "assistant"):
            self._has_own = self._has_own or isinstance(record.session_id, str)
            self._has_headless = self._has_headless or is_headless(record)
            self._has_person = self._has_person or not is_headless(record)
        return is_copy, is_foreign

    def _read_other(self, record: ClaudeRecord) -> None:
        """Read a record that is no message: titles and a new folder."""
        match record.type:
            case "custom-title":
                self._add_title("custom", record.custom_title)
            case "ai-title":
                self._add_title("ai", record.ai_title)
            case "summary":
                self._add_title("summary", record.summary)
            case "relocated":
                if isinstance(record.relocated_cwd, str) and record.relocated_cwd:
                    self._relocated = record.relocated_cwd
            case str(kind):
                if kind not in KNOWN_TYPES:
                    count_unknown(self._conversation.unknown, kind)
            case _:
                count_unknown(self._conversation.unknown, "")

    def _add_title(self, kind: str, title: object) -> None:
        if isinstance(title, str) and title.strip():
            self._titles[kind] = title_of(title)

    def _messages(self) -> list[Message]:
        """Return the messages of the kept branches, the lines of each answer joined."""
        abandoned = self._branches.abandoned()
        is_main = self._session.kind == "main"
        texts_of: dict[str, dict[str, None]] = {}
        kept: list[tuple[_Part, dict[str, None]]] = []
        for part in self._parts:
            is_copy = part.is_foreign and self._has_own
            if part.number in abandoned or is_copy or (part.is_headless and is_main):
                continue
            texts = texts_of.get(part.answer) if part.answer else None
            if texts is None:
                texts = texts_of[part.answer] = {part.text: None}
                kept.append((part, texts))
            else:
                texts[part.text] = None
        return [
            Message(part.role, "\n".join(texts), part.place, part.key, part.time_ms) for part, texts in kept
        ]


class ClaudeCode(FileReader):
    """Claude Code's folder of projects."""

    def open(self, file: TranscriptFile) -> ClaudeCodeReader:
        """Return a reader."""
        return ClaudeCodeReader(file)

    def transcript_at(self, path: str) -> TranscriptFile | None:
        """Return the transcript at a path: `<project>/<session>.jsonl`, or a subagent's `agent-<id>.jsonl`."""
        folder, _, name = path.rpartition("/")
        stem = name.removesuffix(_SUFFIX)
        if stem == name:
            return None
        match folder.split("/"):
            case [str(project)] if project and _UUID.fullmatch(stem):
                return TranscriptFile(stem)
            case [str(project)] if project and _AGENT.fullmatch(stem):  # old releases
                return TranscriptFile(stem, "subagent")
            case [_, session, "subagents", *_] if _UUID.fullmatch(session) and _AGENT.fullmatch(stem):
                return TranscriptFile(stem, "subagent", rank=1)
            case _:
                return None

    def is_walked(self, path: str) -> bool:
        """Return whether a folder may contain transcripts."""
        match path.split("/"):
            case [_]:
                return True
            case [_, session] | [_, session, "subagents", *_]:
                return _UUID.fullmatch(session) is not None
            case _:
                return False

    def read_details(self, folder: Path, session_id: str) -> Session | None:
        """Return the title in `<project>/<session>/custom-title.json`; one attempt to open per project."""
        if not _UUID.fullmatch(session_id):
            return None
        for project in paths_in(folder):
            path = os.path.join(project, session_id, "custom-title.json")
            title = decode_record(read_small_file(path), _title_file) if os.path.lexists(path) else None
            if isinstance(title, dict):
                title = title.get("customTitle") or title.get("title")
            if isinstance(title, str) and title.strip():
                return Session(id=session_id, title=title_of(title))
        return None


def _read_text(record: ClaudeRecord, line: bytes) -> tuple[VisibleText, Role | None]:
    """Return what a record says, and who; None for a record that is no message."""
    match record.type:
        case "user":
            return read_prompt(record, line), "user"
        case "attachment":
            return read_queued_prompt(record, line), "user"
        case "assistant":
            return read_answer(record, line), "assistant"
        case _:
            return VisibleText(), None


def _time_of(record: ClaudeRecord) -> int | None:
    return time_ms_of(record.timestamp) if isinstance(record.timestamp, str) else None


_title_file = msgspec.json.Decoder(object)

READER: Final = ClaudeCode()
