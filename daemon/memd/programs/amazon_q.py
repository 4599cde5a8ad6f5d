"""Conversations of Amazon Q's command line, and of older releases of Kiro's, which has the same database."""

from __future__ import annotations

from typing import Any, Final

from memd.programs.conversation import Conversation
from memd.programs.records import count_unknown, decode_record, text_of, time_ms_of
from memd.programs.tables import Documents, Row, Table, json_value, say
from memd.programs.values import blob_of


class AmazonQDatabase(Documents):
    """The database. Earlier releases keep one conversation for each folder, so the folder is its id."""

    tables = (
        Table("conversations_v2", "id=conversation_id cwd=key created=created_at updated=updated_at"),
        Table("conversations_v2", "session=conversation_id content=value"),
        Table("conversations", "id=key cwd=key"),
        Table("conversations", "session=key content=value"),
    )

    def take(self, row: Row, place: int, conversation: Conversation) -> None:
        """Add the turns of a conversation: a prompt, or the results of tools, and the answer."""
        value = decode_record(blob_of(row["content"]), json_value)
        history = value.get("history") if isinstance(value, dict) else None
        if not isinstance(history, list):
            conversation.broken += 1
            return
        for number, turn in enumerate(history):
            match turn:
                case {"user": dict(user), "assistant": dict(assistant)} | [dict(user), dict(assistant), *_]:
                    _take_turn(user, assistant, 2 * number + 1, conversation)
                case _:
                    count_unknown(conversation.unknown, "turn")


def _take_turn(
    user: dict[str, Any], assistant: dict[str, Any], place: int, conversation: Conversation
) -> None:
    time_ms = time_ms_of(user.get("timestamp"))
    conversation.session.note_time(time_ms)
    match user.get("content"):
        case {"Prompt": {"prompt": str(prompt)}} | {"CancelledToolUses": {"prompt": str(prompt)}}:
            say(conversation, "user", prompt, place, time_ms=time_ms)
        case {"ToolUseResults": _} | {"CancelledToolUses": _}:
            pass
        case content:
            count_unknown(
                conversation.unknown, "prompt " + " ".join(content if isinstance(content, dict) else ())
            )
    match assistant:
        case {"Response": dict(said)} | {"ToolUse": dict(said)}:
            text = text_of(said.get("content"))
            say(conversation, "assistant", text, place + 1, text_of(said.get("message_id")), time_ms)
        case _:
            count_unknown(conversation.unknown, "answer " + " ".join(assistant))


READER: Final = AmazonQDatabase
