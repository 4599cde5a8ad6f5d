"""Conversations of grok-dev, in one database."""

from __future__ import annotations

from typing import Final

from memd.programs.tables import MessageTables, Table


class GrokDevDatabase(MessageTables):
    """grok-dev's database: a message is JSON with its role."""

    tables = (
        Table("sessions", "id title cwd=cwd_last created=created_at updated=updated_at"),
        Table("messages", "session=session_id content=message_json time=created_at", order="seq"),
    )
    known_blocks = frozenset("image file reasoning tool-call tool-result".split())


READER: Final = GrokDevDatabase
