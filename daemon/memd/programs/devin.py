"""Conversations of Devin's command line: a tree of messages, of which the session names the last one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from memd.programs.conversation import SessionKind
from memd.programs.records import is_set
from memd.programs.tables import MessageTables, Row, Table


class DevinDatabase(MessageTables):
    """Devin's database of all sessions."""

    tables = (
        Table(
            "sessions",
            "id cwd=working_directory created=created_at updated=last_activity_at title? last?=main_chain_id"
            " is_hidden?=hidden",
        ),
        Table(
            "message_nodes",
            "session=session_id content=chat_message node=node_id parent=parent_node_id time?=created_at",
            order="row_id",
        ),
    )
    known_blocks = frozenset("image thinking reasoning tool_use tool_result tool_call".split())

    def kind_of(self, row: Row) -> SessionKind:
        """Return the kind of a session."""
        return "machine" if is_set(row.get("is_hidden")) else "main"

    def chosen(self, session: Row, rows: Iterable[Row]) -> Iterable[Row]:
        """Return the rows from the first message to the last one; all of them if the tree is damaged."""
        nodes = {row["node"]: row for row in rows}
        branch: list[Row] = []
        node = session.get("last")
        while node in nodes and len(branch) < len(nodes):
            branch.append(nodes[node])
            node = branch[-1]["parent"]
        return branch[::-1] if branch and node is None else nodes.values()


READER: Final = DevinDatabase
