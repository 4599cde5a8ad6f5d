"""Conversations of Goose. What it tells its model alone is marked in a message's metadata."""

from __future__ import annotations

from typing import Final

from memd.programs.conversation import SessionKind
from memd.programs.records import decode_record
from memd.programs.tables import MessageTables, Row, Table, json_value
from memd.programs.values import blob_of, text_of

_KINDS: Final[dict[str, SessionKind]] = {
    "sub_agent": "subagent",
    "scheduled": "machine",
    "hidden": "machine",
}


class GooseDatabase(MessageTables):
    """Goose's database of all sessions."""

    tables = (
        Table(
            "sessions",
            "id cwd=working_dir created=created_at updated=updated_at title?=name type?=session_type"
            " parent?=parent_session_id",
        ),
        Table(
            "messages",
            "session=session_id role content=content_json time=created_timestamp key?=message_id"
            " metadata?=metadata_json",
            order="created_timestamp, id",
        ),
    )
    known_blocks = frozenset(
        "image thinking redactedThinking toolRequest toolResponse toolConfirmationRequest frontendToolRequest"
        " actionRequired systemNotification contextLengthExceeded summarizationRequested conversationCompacted".split()
    )
    injected = ("<info-msg>", "<turn-context>")

    def kind_of(self, row: Row) -> SessionKind:
        """Return the kind of a session."""
        return _KINDS.get(text_of(row.get("type"))) or super().kind_of(row)

    def is_hidden(self, row: Row) -> bool:
        """Return whether only the model sees a message, such as a summary, or if that can't be known."""
        if row.get("metadata") is None:
            return False
        metadata = decode_record(blob_of(row["metadata"]), json_value)
        return not isinstance(metadata, dict) or metadata.get("userVisible") is not True


READER: Final = GooseDatabase
