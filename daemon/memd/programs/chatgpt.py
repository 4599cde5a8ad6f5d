"""Conversations in the archives that ChatGPT exports: trees of messages, of which the branch is read that is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from memd.programs.conversation import Conversation, Message, Role, Session
from memd.programs.exports import ChatExport, Listed, Record
from memd.programs.records import count_unknown, is_marked, text_of, time_ms_of, title_of

_SKIPPED: Final = frozenset(
    """user_editable_context model_editable_context thoughts reasoning_recap code execution_output tether_quote
    tether_browsing_display computer_output system_error citable_code_output sonic_webpage super_widget
    app_pairing_content""".split()
)
"""Contents without words of people or answers: custom instructions, thoughts, tools and their results."""

_HIDDEN: Final = ("is_visually_hidden_from_conversation", "is_user_system_message")


class ChatGptExport(ChatExport):
    """An export of ChatGPT."""

    title = "ChatGPT"

    def list_record(self, record: Record) -> Listed:
        """Return what the listing keeps of a conversation."""
        updated_ms = _time_of(record, "update_time") or _time_of(record, "create_time") or 0
        nodes = record.get("mapping")
        return Listed(_id_of(record), updated_ms, len(nodes)) if isinstance(nodes, dict) else Listed()

    def conversation(self, session_id: str, records: Sequence[Record]) -> Conversation:
        """Return a conversation."""
        conversation = Conversation(Session(session_id))
        for record in records:
            conversation.session.title = title_of(text_of(record.get("title")))
            conversation.session.started_ms = _time_of(record, "create_time")
            conversation.session.updated_ms = _time_of(record, "update_time")
            for place, message in enumerate(reversed([*_branch(record)]), start=1):
                _add(message, place, conversation)
        return conversation


def _branch(record: Record) -> Iterator[Record]:
    """Yield the messages from the one that is shown last to the first one."""
    nodes = dict(record["mapping"])
    name = text_of(record.get("current_node"))
    node = nodes.pop(name if name in nodes else next(reversed(nodes), ""), None)
    while isinstance(node, dict):
        if isinstance(node.get("message"), dict):
            yield node["message"]
        node = nodes.pop(text_of(node.get("parent")), None)


def _add(message: Record, place: int, conversation: Conversation) -> None:
    """Add a message if the user or ChatGPT said it to the other."""
    author, metadata, content = (_dict_in(message, name) for name in ("author", "metadata", "content"))
    name, kind = text_of(author.get("role")), text_of(content.get("content_type"))
    if name in ("system", "tool") or kind in _SKIPPED:
        return
    if name not in ("user", "assistant") or kind not in ("text", "multimodal_text"):
        is_known = name in ("user", "assistant")
        count_unknown(conversation.unknown, f"content {kind}" if is_known else f"author {name}")
        return
    is_hidden = any(is_marked(metadata.get(mark)) for mark in _HIDDEN) or message.get("weight") == 0
    is_call = message.get("recipient") not in (None, "all") or message.get("channel") == "analysis"
    text = "\n".join(_texts_in(content.get("parts"))).strip()
    if text and not is_hidden and not is_call:
        role: Role = "user" if name == "user" else "assistant"
        time_ms = _time_of(message, "create_time")
        conversation.messages.append(Message(role, text, place, text_of(message.get("id")), time_ms))


def _texts_in(parts: object) -> Iterator[str]:
    """Yield the texts of a message: what was typed, and what was said in a voice chat."""
    for part in parts if isinstance(parts, list) else ():
        is_spoken = isinstance(part, dict) and part.get("content_type") == "audio_transcription"
        if text := text_of(part.get("text") if is_spoken else part):
            yield text


def _dict_in(record: Record, name: str) -> Record:
    value = record.get(name)
    return value if isinstance(value, dict) else {}


def _id_of(record: Record) -> str:
    return text_of(record.get("conversation_id")) or text_of(record.get("id"))


def _time_of(record: Record, name: str) -> int | None:
    """Return a time, which is in seconds, in milliseconds."""
    seconds = record.get(name)
    return time_ms_of(seconds * 1_000) if isinstance(seconds, (int, float)) else None


READER: Final = ChatGptExport
