"""The readers of programs' conversations, imported when they are needed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from memd.programs.catalog import Conversations, Places
from memd.programs.lines import TABLES, load
from memd.programs.program import ConversationDatabase, FileReader


def reader_of(conversations: Conversations) -> FileReader | Callable[[Path], ConversationDatabase]:
    """Return the reader of a program's files, or what opens one of its databases."""
    table = TABLES.get(conversations.reader)
    reader: FileReader | Callable[[Path], ConversationDatabase] = (
        load(f"{conversations.reader}.READER") if table is None else load(table.files)(table)
    )
    return reader


def find_places(conversations: Conversations, places: Places) -> list[Path]:
    """Return the folders or databases of a program's conversations; they may be missing (blocking)."""
    found = places.paths(conversations.places)
    if conversations.finds_places:
        module = import_module(f"memd.programs.{conversations.reader}")
        found += module.find_places(places)
    return list(dict.fromkeys(found))
