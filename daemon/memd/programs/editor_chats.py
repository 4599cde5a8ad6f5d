"""Early chats of Cursor and Windsurf, in the database of each workspace. All other keys there may hold tokens."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from memd.programs.conversation import Conversation, Session
from memd.programs.program import ConversationDatabase, StoredSession
from memd.programs.records import count_unknown, decode_record, text_of, time_ms_of
from memd.programs.small_files import read_small_file
from memd.programs.tables import json_value, say
from memd.programs.values import blob_of, json_column
from memd.system.sqlite import ForeignDatabaseError, columns_of, opened_foreign

_KEYS: Final = (
    "workbench.panel.aichat.view.aichat.chatdata",
    "aiChat.chatdata",
    "composer.composerData",
    "composer.composerData.allComposers",
)
_USER, _AI = ("user", 1), ("ai", "assistant", "bot", 2)


class EditorChats(ConversationDatabase):
    """The database `state.vscdb` of a workspace: a value lists its chats with their messages."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def sessions(self) -> list[StoredSession]:
        """Return all chats; see `ConversationDatabase.sessions`."""
        sessions: dict[str, StoredSession] = {}
        for key, chat, bubbles in self._chats():
            updated_ms = (
                time_ms_of(chat.get("lastUpdatedAt") or chat.get("lastSendTime")) or _created(chat) or 0
            )
            version = zlib.crc32(repr(chat).encode("utf-8", "replace"))
            stat = (updated_ms * 1_000_000, len(bubbles), version, updated_ms)
            sessions.setdefault(key, StoredSession(key, stat, messages=len(bubbles)))
        return [*sessions.values()]

    def read(self, session_id: str) -> Conversation | None:
        """Return one chat; see `ConversationDatabase.read`."""
        for key, chat, bubbles in self._chats():
            if key == session_id:
                title = text_of(chat.get("chatTitle")) or text_of(chat.get("name"))
                session = Session(key, title=title, cwd=self._folder(), started_ms=_created(chat))
                conversation = Conversation(session)
                for place, bubble in enumerate(bubbles, start=1):
                    _take(bubble, place, conversation)
                return conversation
        return None

    def _chats(self) -> Iterator[tuple[str, dict[str, Any], list[Any]]]:
        """Yield the id of each chat that has messages, the chat, and its messages."""
        with opened_foreign(self._path) as db:
            if not columns_of(db, "ItemTable").keys() >= {"key", "value"}:
                raise ForeignDatabaseError("it has no table ItemTable with keys and values", unknown=True)
            marks = ", ".join("?" * len(_KEYS))
            rows = db.execute(f"SELECT {json_column('value')} FROM ItemTable WHERE key IN ({marks})", _KEYS)
            values = [decode_record(blob_of(value), json_value) for (value,) in rows]
        for value in values:
            lists = [value.get("tabs"), value.get("allComposers")] if isinstance(value, dict) else [value]
            for chat in (chat for chats in lists if isinstance(chats, list) for chat in chats):
                key = text_of(chat.get("tabId") or chat.get("composerId")) if isinstance(chat, dict) else ""
                bubbles = (chat.get("bubbles") or chat.get("conversation")) if key else None
                if isinstance(bubbles, list):
                    yield key, chat, bubbles

    def _folder(self) -> str:
        """Return the folder of the workspace, which a file beside the database names."""
        found = decode_record(read_small_file(str(self._path.parent / "workspace.json")), json_value)
        uri = text_of(found.get("folder")) if isinstance(found, dict) else ""
        try:
            return unquote(urlsplit(uri).path) if uri.startswith("file://") else ""
        except ValueError:
            return ""


def _created(chat: dict[str, Any]) -> int | None:
    return time_ms_of(chat.get("createdAt"))


def _take(bubble: object, place: int, conversation: Conversation) -> None:
    kind = bubble.get("type") if isinstance(bubble, dict) else None
    if not isinstance(bubble, dict) or not any(kind == known for known in _USER + _AI):
        count_unknown(conversation.unknown, f"type {kind}" if isinstance(kind, (str, int)) else "")
        return
    text = text_of(bubble.get("text")) or text_of(bubble.get("rawText"))
    key = text_of(bubble.get("bubbleId") or bubble.get("id"))
    say(conversation, "user" if kind in _USER else "assistant", text, place, key, _created(bubble))


READER: Final = EditorChats
