"""Conversations of opencode, and of Kilo, which has the same tables.

Words are the text of people's and assistants' messages. Text that opencode itself writes as the user is marked
`synthetic` or `ignored`, and a compaction's answer is marked `summary`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from memd.programs.conversation import Conversation, Message, Role, Session
from memd.programs.opencode_rows import OpencodeConversation, OpencodeMessage, list_sessions, opened_session
from memd.programs.program import ConversationDatabase, StoredSession
from memd.programs.records import count_unknown, decode_record, is_set, time_ms_of
from memd.programs.tool_calls import read_opencode
from memd.programs.work import WorkLog

_KNOWN_PARTS: Final = frozenset(
    "reasoning tool file step-start step-finish snapshot patch agent subtask retry compaction".split()
)
_KNOWN_TYPES: Final = frozenset(
    "system synthetic shell compaction idle agent-switched model-switched".split()
)
_FORKED_TITLE = re.compile(r"\(fork #\d{1,9}\)\Z")
"""End of the title that 1.x gives to a fork, which has no other mark."""


class _Time(msgspec.Struct):
    created: object = None


class _V1Message(msgspec.Struct):
    """The data of a 1.x message. `summary` of a user's is a description of changes, of an assistant's a mark."""

    role: str
    time: _Time | None = None
    summary: object = None
    mode: object = None
    agent: object = None


class _V1Part(msgspec.Struct):
    type: str
    text: object = None
    synthetic: object = None
    ignored: object = None


class _V2Block(msgspec.Struct):
    type: str
    text: object = None


class _V2Message(msgspec.Struct):
    """The data of a 2.x message: `text` of a user, `content` of an assistant."""

    text: object = None
    content: list[_V2Block] | None = None
    time: _Time | None = None
    synthetic: object = None


class _Revert(msgspec.Struct):
    """The message, or part of a message, from which on everything is hidden."""

    messageID: str  # noqa: N815 - opencode's names
    partID: str | None = None  # noqa: N815


_v1_message = msgspec.json.Decoder(_V1Message)
_v1_part = msgspec.json.Decoder(_V1Part)
_v2_message = msgspec.json.Decoder(_V2Message)
_revert = msgspec.json.Decoder(_Revert)


class OpencodeDatabase(ConversationDatabase):
    """A database of conversations, opened for each read."""

    has_work = True

    def __init__(self, path: Path) -> None:
        self._path = path

    def __repr__(self) -> str:
        return f"<OpencodeDatabase {self._path}>"

    def sessions(self) -> list[StoredSession]:
        """Return all sessions; see `ConversationDatabase.sessions`."""
        return [
            StoredSession(
                each.id,
                (each.updated_ms * 1_000_000, each.number, 0, each.updated_ms),
                "subagent" if each.parent else "main",
                each.messages,
            )
            for each in list_sessions(self._path)
        ]

    def read(self, session_id: str) -> Conversation | None:
        """Return one conversation; see `ConversationDatabase.read`."""
        with opened_session(self._path, session_id) as stored:
            return None if stored is None else read_conversation(stored, WorkLog())


def read_conversation(stored: OpencodeConversation, work: WorkLog | None = None) -> Conversation:
    """Return a conversation, and collect the agent's work in a log; the messages of `stored` are consumed."""
    conversation = Conversation(
        Session(
            id=stored.id,
            kind="subagent" if stored.parent else "main",
            parent=stored.parent or stored.forked_from,
            title=stored.title,
            cwd=stored.directory,
            started_ms=stored.created_ms or None,
            updated_ms=stored.updated_ms or None,
            release=stored.release,
        )
    )
    revert = decode_record(stored.revert, _revert)
    conversation.work, conversation.fetches = (work.steps, work.fetches) if work is not None else (None, None)
    copied_before_ms = stored.created_ms if not stored.is_v2 and _FORKED_TITLE.search(stored.title) else 0
    for place, message in enumerate(stored.messages, start=1):
        is_reverted_to = revert is not None and message.id == revert.messageID
        if revert is not None and is_reverted_to and not revert.partID:
            break
        if message.time_ms >= copied_before_ms:
            end = revert.partID if revert is not None and is_reverted_to else None
            message = message if work is None else _with_work(message, work, place)
            said = _read_v2(message, conversation) if stored.is_v2 else _read_v1(message, conversation, end)
            if said is not None:
                conversation.messages.append(said._replace(place=place))
        if is_reverted_to:
            break
    else:
        if revert is not None:  # its message was deleted: ids ascend, and later ones are hidden
            conversation.messages = [each for each in conversation.messages if each.key < revert.messageID]
    return conversation


def _with_work(message: OpencodeMessage, work: WorkLog, place: int) -> OpencodeMessage:
    """Read the calls of tools in a message, and return the message."""
    parts = list(message.parts)
    for data in [message.data, *(part.data for part in parts)]:
        read_opencode(work, data, place, message.time_ms or None)
    return message._replace(parts=iter(parts))


def _read_v1(message: OpencodeMessage, conversation: Conversation, end: str | None) -> Message | None:
    """Return a 1.x message, up to a part; None without words."""
    record = decode_record(message.data, _v1_message)
    if record is None:
        conversation.broken += 1
        return None
    role = _role(record.role)
    if role is None:
        count_unknown(conversation.unknown, record.role)
        return None
    if role == "assistant" and (is_set(record.summary) or "compaction" in (record.mode, record.agent)):
        return None
    texts = []
    for part in message.parts:
        if end is not None and part.id >= end:
            break
        read = decode_record(part.data, _v1_part)
        if read is None:
            conversation.broken += 1
        elif read.type != "text":
            if read.type not in _KNOWN_PARTS:
                count_unknown(conversation.unknown, f"part {read.type}")
        elif not is_set(read.synthetic) and not is_set(read.ignored):
            texts.append(read.text)
    return _message(role, texts, message, record.time)


def _read_v2(message: OpencodeMessage, conversation: Conversation) -> Message | None:
    """Return a 2.x message; None without words."""
    role = _role(message.type)
    if role is None:
        if message.type not in _KNOWN_TYPES and not message.type.endswith("-switched"):
            count_unknown(conversation.unknown, message.type)
        return None
    record = decode_record(message.data, _v2_message)
    if record is None:
        conversation.broken += 1
        return None
    if is_set(record.synthetic):
        return None
    if role == "user":
        return _message(role, [record.text], message, record.time)
    texts = [block.text for block in record.content or () if block.type == "text"]
    return _message(role, texts, message, record.time)


def _role(name: str) -> Role | None:
    return "user" if name == "user" else "assistant" if name == "assistant" else None


def _message(
    role: Role, texts: Sequence[object], message: OpencodeMessage, time: _Time | None
) -> Message | None:
    said = "\n".join(text for text in texts if isinstance(text, str) and text.strip())
    created = time_ms_of(time.created) if time is not None else None
    return Message(role, said, 0, message.id, created or message.time_ms or None) if said else None


READER: Final = OpencodeDatabase
