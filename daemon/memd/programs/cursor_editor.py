"""Conversations of Cursor's editor, in its database.

A conversation lists its messages in order; a message that isn't listed was removed from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from memd.programs.conversation import Conversation, Message, Role, Session, SessionKind
from memd.programs.cursor import queries_in
from memd.programs.cursor_rows import (
    READ_COMPOSERS,
    CursorBubble,
    CursorComposer,
    list_composers,
    opened_composer,
    read_composers,
)
from memd.programs.program import ConversationDatabase, StoredSession
from memd.programs.records import count_unknown, decode_record, is_set, time_ms_of
from memd.programs.tool_calls import read_cursor
from memd.programs.work import WorkLog

_USER, _ASSISTANT = 1, 2
_THINKING: Final = 30
"""`capabilityType` of a message that is thinking."""

_CONTEXT: Final = ("<user_query>", "<system_reminder>", "<system-reminder>")
"""Beginnings of a person's message that are not theirs; the words are within the first one."""

_NUMBERS: Final = 2**62
_MIXED: Final = 2**20


class _Bubble(msgspec.Struct):
    """A message. `text` of a tool call or of thinking is empty: their content has fields of its own."""

    type: int
    bubbleId: object = None  # noqa: N815 - Cursor's names
    text: object = None
    rawText: object = None  # noqa: N815
    createdAt: object = None  # noqa: N815
    isThought: object = None  # noqa: N815
    capabilityType: object = None  # noqa: N815
    isSimulatedMsg: object = None  # noqa: N815
    simulatedMsgReason: object = None  # noqa: N815
    isPlanExecution: object = None  # noqa: N815
    toolFormerData: msgspec.Raw = msgspec.Raw()  # noqa: N815


class _Composer(msgspec.Struct):
    """A conversation. Before `fullConversationHeadersOnly`, `conversation` had the messages themselves."""

    name: object = None
    createdAt: object = None  # noqa: N815 - Cursor's names
    lastUpdatedAt: object = None  # noqa: N815
    fullConversationHeadersOnly: object = None  # noqa: N815
    conversation: list[_Bubble] | None = None
    workspaceIdentifier: object = None  # noqa: N815
    subComposerIds: object = None  # noqa: N815
    subagentInfo: object = None  # noqa: N815


class _Summary(msgspec.Struct):
    """The part of a conversation's value that the listing needs."""

    createdAt: object = None  # noqa: N815 - Cursor's names
    lastUpdatedAt: object = None  # noqa: N815
    subComposerIds: object = None  # noqa: N815
    subagentInfo: object = None  # noqa: N815


_bubble = msgspec.json.Decoder(_Bubble)
_composer = msgspec.json.Decoder(_Composer)
_summary = msgspec.json.Decoder(_Summary)


class _Listed(NamedTuple):
    """What a conversation's value says about the listing, and the row that said so."""

    row: int
    size_bytes: int
    updated_ms: int
    children: tuple[str, ...]
    is_subagent: bool


class CursorEditorDatabase(ConversationDatabase):
    """The editor's database, opened for each read."""

    has_work = True

    def __init__(self, path: Path) -> None:
        self._path = path
        self._listed: dict[str, _Listed] = {}
        self._parents: dict[str, str] | None = None
        self._subagents: set[str] = set()

    def __repr__(self) -> str:
        return f"<CursorEditorDatabase {self._path}>"

    def sessions(self) -> list[StoredSession]:
        """Return all sessions; see `ConversationDatabase.sessions`.

        Only the values of conversations that were written since the last call are read.
        """
        composers = list_composers(self._path)
        self._refresh(composers)
        self._parents = {child: parent for parent, each in self._listed.items() for child in each.children}
        self._subagents = {each.id for each in composers if each.is_subagent}
        self._subagents |= {
            key for key, each in self._listed.items() if each.is_subagent
        } | self._parents.keys()
        return [self._stored(each) for each in composers]

    def read(self, session_id: str) -> Conversation | None:
        """Return one conversation; see `ConversationDatabase.read`."""
        if self._parents is None:
            self.sessions()
        with opened_composer(self._path, session_id) as opened:
            if opened is None:
                return None
            data, bubbles = opened
            work = WorkLog()
            conversation = Conversation(Session(id=session_id), work=work.steps, fetches=work.fetches)
            composer = decode_record(data, _composer)
            if composer is None:
                conversation.broken += 1
                return conversation
            self._describe(composer, conversation.session)
            _read_bubbles(composer, bubbles, conversation, work)
            return conversation

    def close(self) -> None:
        """Release what is known about the sessions; no connection is kept."""
        self._listed.clear()
        self._parents = None

    def _refresh(self, composers: Sequence[CursorComposer]) -> None:
        """Read the values of new and of changed conversations."""
        listed: dict[str, _Listed] = {}
        changed = []
        for each in composers:
            known = self._listed.get(each.id)
            if known is not None and (known.row, known.size_bytes) == (each.row, each.size_bytes):
                listed[each.id] = known
            else:
                changed.append(each)
        for start in range(0, len(changed), READ_COMPOSERS):
            some = changed[start : start + READ_COMPOSERS]
            values = read_composers(self._path, [each.id for each in some])
            for each in some:
                summary = decode_record(values[each.id], _summary) or _Summary()
                listed[each.id] = _Listed(
                    each.row,
                    each.size_bytes,
                    time_ms_of(summary.lastUpdatedAt) or time_ms_of(summary.createdAt) or 0,
                    tuple(_texts(summary.subComposerIds)),
                    is_set(summary.subagentInfo),
                )
        self._listed = listed

    def _stored(self, composer: CursorComposer) -> StoredSession:
        listed = self._listed[composer.id]
        updated = max(composer.updated_ms, listed.updated_ms)
        newest = max(composer.row, composer.last_row)
        number = (newest * _MIXED + (composer.bubbles * 31 + composer.size_bytes) % _MIXED) % _NUMBERS
        kind: SessionKind = "subagent" if composer.id in self._subagents else "main"
        return StoredSession(composer.id, (updated * 1_000_000, number, 0, updated), kind, composer.bubbles)

    def _describe(self, composer: _Composer, session: Session) -> None:
        """Set what is known about a session."""
        session.parent = (self._parents or {}).get(session.id, "")
        if session.id in self._subagents or is_set(composer.subagentInfo):
            session.kind = "subagent"
        session.title = composer.name if isinstance(composer.name, str) else ""
        session.cwd = _folder_of(composer.workspaceIdentifier)
        session.started_ms = time_ms_of(composer.createdAt)
        session.updated_ms = time_ms_of(composer.lastUpdatedAt) or session.started_ms


def _read_bubbles(
    composer: _Composer, bubbles: Iterable[CursorBubble], conversation: Conversation, work: WorkLog
) -> None:
    """Add a conversation's messages in its order."""
    order = composer.fullConversationHeadersOnly
    if not isinstance(order, list) or not order:
        for place, inline in enumerate(composer.conversation or (), start=1):
            key = inline.bubbleId if isinstance(inline.bubbleId, str) else ""
            _add(inline, None, key, place, conversation, work)
        return
    headers: dict[str, tuple[int, object]] = {}
    for place, header in enumerate(order, start=1):
        name = header.get("bubbleId") if isinstance(header, dict) else None
        if isinstance(name, str):
            headers.setdefault(name, (place, header.get("type")))
    found: dict[str, _Bubble] = {}
    for each in bubbles:
        if each.id in headers:
            read = decode_record(each.data, _bubble)
            if read is None:
                conversation.broken += 1
            else:
                found[each.id] = read
    for key, (place, kind) in headers.items():
        if key in found:
            _add(found[key], kind, key, place, conversation, work)


def _add(
    bubble: _Bubble, kind: object, key: str, place: int, conversation: Conversation, work: WorkLog
) -> None:
    """Add one message if it has words; `kind` is its type according to the conversation."""
    role: Role
    if bubble.type == _USER:
        role = "user"
    elif bubble.type == _ASSISTANT:
        role = "assistant"
    else:
        count_unknown(conversation.unknown, f"type {bubble.type}")
        return
    read_cursor(work, bytes(bubble.toolFormerData), place, time_ms_of(bubble.createdAt))
    is_mistyped = kind is not None and kind != bubble.type
    is_machine = any(map(is_set, (bubble.isSimulatedMsg, bubble.simulatedMsgReason, bubble.isPlanExecution)))
    is_thinking = is_set(bubble.isThought) or bubble.capabilityType == _THINKING
    text = next(
        (text for text in (bubble.text, bubble.rawText) if isinstance(text, str) and text.strip()), ""
    )
    if role == "user":
        text = "\n".join(queries_in(text)) or ("" if text.lstrip().startswith(_CONTEXT) else text)
    if text.strip() and not (is_mistyped or is_machine or is_thinking):
        conversation.messages.append(Message(role, text, place, key, time_ms_of(bubble.createdAt)))


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _folder_of(workspace: object) -> str:
    """Return `uri.fsPath` of a workspace."""
    uri = workspace.get("uri") if isinstance(workspace, dict) else None
    path = uri.get("fsPath") if isinstance(uri, dict) else None
    return path if isinstance(path, str) else ""


READER: Final = CursorEditorDatabase
