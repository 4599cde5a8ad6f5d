"""Conversations in the archives that Claude exports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from memd.programs.blocks import visible_text
from memd.programs.conversation import Conversation, Message, Role, Session
from memd.programs.exports import ChatExport, Listed, Record
from memd.programs.records import count_unknown, text_of, time_ms_of, title_of

_KNOWN_BLOCKS: Final = frozenset(
    "text thinking redacted_thinking tool_use tool_result voice_note token_budget image document flag".split()
)
_ROLES: Final[dict[object, Role]] = {"human": "user", "assistant": "assistant"}


class ClaudeExport(ChatExport):
    """An export of Claude."""

    title = "Claude"

    def list_record(self, record: Record) -> Listed:
        """Return what the listing keeps of a conversation."""
        messages = record.get("chat_messages")
        updated_ms = time_ms_of(record.get("updated_at")) or time_ms_of(record.get("created_at")) or 0
        listed = Listed(text_of(record.get("uuid")), updated_ms)
        return listed._replace(messages=len(messages)) if isinstance(messages, list) else Listed()

    def conversation(self, session_id: str, records: Sequence[Record]) -> Conversation:
        """Return a conversation."""
        conversation = Conversation(Session(session_id))
        for record in records:
            conversation.session.title = title_of(text_of(record.get("name")))
            conversation.session.started_ms = time_ms_of(record.get("created_at"))
            conversation.session.updated_ms = time_ms_of(record.get("updated_at"))
            for place, message in enumerate(record["chat_messages"], start=1):
                if isinstance(message, dict):
                    _add(message, place, conversation)
                else:
                    conversation.broken += 1
        return conversation


def _add(message: Record, place: int, conversation: Conversation) -> None:
    """Add a message if it has words. Its `text` also names blocks that can't be shown."""
    sender, content = message.get("sender"), message.get("content")
    role = _ROLES.get(sender) if isinstance(sender, str) else None
    if role is None:
        count_unknown(conversation.unknown, f"sender {text_of(sender)}")
        return
    blocks = content if isinstance(content, list) else []
    kinds = [text_of(block.get("type")) for block in blocks if isinstance(block, dict)]
    for kind in kinds:
        if kind not in _KNOWN_BLOCKS:
            count_unknown(conversation.unknown, f"block {kind}")
    has_only_text = all(kind in ("text", "voice_note") for kind in kinds)
    text = (visible_text(blocks) or (text_of(message.get("text")) if has_only_text else "")).strip()
    if text:
        time_ms = time_ms_of(message.get("created_at"))
        conversation.messages.append(Message(role, text, place, text_of(message.get("uuid")), time_ms))


READER: Final = ClaudeExport
