"""Conversations with Zed's own agent: a document in JSON, which newer releases compress, in each row."""

from __future__ import annotations

from typing import Any, Final

from memd.programs.conversation import Conversation
from memd.programs.packed import decompress
from memd.programs.records import count_unknown, decode_record, is_marked, text_of
from memd.programs.tables import Documents, Row, Table, block_texts, json_value, say
from memd.programs.values import MAX_VALUE_BYTES, blob_of
from memd.programs.values import text_of as column_text
from memd_client.errors import FileUnreadableError

_SILENT: Final = frozenset("Mention Image Thinking RedactedThinking ToolUse".split())
_SEGMENTS: Final = frozenset(("thinking", "RedactedThinking"))


class ZedDatabase(Documents):
    """Zed's database of threads. A message is `{"User": …}` or `{"Agent": …}`, before 2025 `{"role": "user", …}`."""

    tables = (
        Table(
            "threads",
            "id title=summary updated=updated_at parent?=parent_id cwd?=folder_paths created?=created_at",
        ),
        Table("threads", "session=id content=data type=data_type updated=updated_at"),
    )

    def take(self, row: Row, place: int, conversation: Conversation) -> None:
        """Add the messages of a thread, which have no times."""
        conversation.session.cwd = conversation.session.cwd.partition("\n")[0]
        data = blob_of(row["content"]) or b""
        try:
            if column_text(row["type"]) == "zstd":
                data = decompress(data, MAX_VALUE_BYTES, conversation.session.id)
        except FileUnreadableError:
            data = b""
        thread = decode_record(data, json_value)
        messages = thread.get("messages") if isinstance(thread, dict) else None
        if not isinstance(messages, list):
            conversation.broken += 1
            return
        for number, message in enumerate(messages, start=1):
            _take_message(message, number, conversation)


def _take_message(message: Any, place: int, conversation: Conversation) -> None:
    """Add a message if it has words. What a user mentions is a file's text."""
    if message == "Resume":
        return
    role, value = next(iter(message.items()), ("", None)) if isinstance(message, dict) else ("", None)
    if isinstance(value, dict) and role in ("User", "Agent"):
        blocks = value.get("content")
        texts = [_text(block, conversation) for block in (blocks if isinstance(blocks, list) else ())]
        is_user = role == "User"
        said = "".join(texts) if is_user else "\n".join(text for text in texts if text.strip())
        say(conversation, "user" if is_user else "assistant", said, place, text_of(value.get("id")))
    elif isinstance(message, dict) and message.get("role") in ("user", "assistant", "system"):
        if message["role"] != "system" and not is_marked(message.get("is_hidden")):
            texts = block_texts(message.get("segments", message.get("text")), _SEGMENTS, conversation)
            say(conversation, message["role"], "\n".join(texts), place)
    else:
        count_unknown(conversation.unknown, text_of(message) or role)


def _text(block: object, conversation: Conversation) -> str:
    """Return the text of `{"Text": …}`."""
    kind, value = next(iter(block.items()), ("", None)) if isinstance(block, dict) else ("", None)
    if kind != "Text" and kind not in _SILENT:
        count_unknown(conversation.unknown, f"block {kind}")
    return text_of(value) if kind == "Text" else ""


READER: Final = ZedDatabase
