"""Writes docs/programs.md from the catalog of programs; `scripts/docs` calls it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from memd.programs.catalog import PROGRAMS, Conversations, Program
from memd.programs.program import FileReader, TranscriptFile
from memd.programs.readers import reader_of

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "programs.md"
HEAD = Path(__file__).resolve().parent / "texts" / "programs.md"

CHECKS: Final = {"program": "program", "source": "source", "reader": "unverified"}
"""How the reader of a program's conversations was checked, by the catalog's `verified`."""

HEADS = ("program", "conversations", "work", "notes", "hooks", "MCP", "checked with")


def render() -> str:
    """Return the whole page."""
    lines = [HEADS, ("---",) * len(HEADS), *map(_row, sorted(PROGRAMS.values(), key=_order))]
    return HEAD.read_text("utf-8") + "".join("| " + " | ".join(cells) + " |\n" for cells in lines).replace(
        "| --- ", "|---"
    ).replace("--- |", "---|")


def _order(program: Program) -> tuple[bool, bool, str]:
    """Return a program's place: with conversations first, exports behind them, then by title."""
    conversations = program.conversations
    return conversations is None, bool(conversations and conversations.export), program.title.lower()


def _row(program: Program) -> tuple[str, ...]:
    """Return a program as a row; what memd doesn't do with it is empty."""
    conversations, notes = program.conversations, program.notes
    page = DOCS / f"{program.name}.md"
    title = conversations.title if conversations is not None else ""
    title = title or program.title
    if page.exists():
        title = f"[{title}]({page.name})"
    kind = " (export)" if conversations is not None and conversations.export else ""
    return (
        title,
        f"`{program.name}`{kind}" if conversations is not None else "",
        "yes" if conversations is not None and _has_work(conversations) else "",
        f"`{notes.source}`" if notes is not None else "",
        "yes" if program.hooks is not None else "",
        "yes" if program.mcp is not None else "",
        CHECKS[program.verified] if conversations is not None else "",
    )


def _has_work(conversations: Conversations) -> bool:
    """Return whether a program's reader returns what its agent did."""
    reader = reader_of(conversations)
    if isinstance(reader, FileReader):
        return reader.open_with_work(TranscriptFile("session"))[1] is not None
    return reader(Path("x.db")).has_work
