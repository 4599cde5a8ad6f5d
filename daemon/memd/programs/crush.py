"""Conversations of Crush, which keeps a database in each project and lists the projects."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from memd.programs.catalog import Places
from memd.programs.conversation import Session
from memd.programs.records import decode_record, is_set
from memd.programs.small_files import read_small_file
from memd.programs.tables import MessageTables, Row, Table, json_value

_LISTS: Final = ("{CRUSH_GLOBAL_DATA}/projects.json", "{XDG_DATA_HOME:~/.local/share}/crush/projects.json")


class CrushDatabase(MessageTables):
    """The database of a project. Sessions with a parent are those of agents, and those that invent a title."""

    tables = (
        Table("sessions", "id title created=created_at updated=updated_at parent?=parent_session_id"),
        Table(
            "messages",
            "key=id session=session_id role content=parts time=created_at updated?=updated_at"
            " is_summary?=is_summary_message",
            order="created_at, rowid",
        ),
    )
    known_blocks = frozenset("reasoning image_url binary finish tool_call tool_result shell_command".split())

    def describe(self, row: Row, session_id: str) -> Session:
        """Return what is known about a session; the project is the folder with `.crush`."""
        session = super().describe(row, session_id)
        session.cwd = str(self.path.parent.parent) if self.path.parent.name == ".crush" else ""
        return session

    def is_hidden(self, row: Row) -> bool:
        """Return whether a message is a summary of the others."""
        return is_set(row.get("is_summary"))

    def message_of(self, row: Row) -> tuple[str, object]:
        """Return the role of a message, and its parts as blocks."""
        role, parts = super().message_of(row)
        if isinstance(parts, list):
            parts = [
                {"text": part["data"].get("text"), "type": part.get("type")}
                if isinstance(part, dict) and isinstance(part.get("data"), dict)
                else part
                for part in parts
            ]
        return role, parts


def find_places(places: Places) -> list[Path]:
    """Return the databases of all projects that Crush lists (blocking)."""
    databases = []
    for path in places.paths(_LISTS):
        listed = decode_record(read_small_file(str(path)), json_value)
        projects = listed.get("projects") if isinstance(listed, dict) else None
        for project in projects if isinstance(projects, list) else ():
            values = [project.get(key) for key in ("path", "data_dir")] if isinstance(project, dict) else [""]
            if all(isinstance(value, str) and value for value in values):
                databases.append(Path(*values, "crush.db"))
    return databases


READER: Final = CrushDatabase
