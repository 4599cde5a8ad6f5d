"""Conversations of Continue in its editors and on its command line, and of Kiro's editor, which has the same form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from memd.programs.conversation import Role, Session
from memd.programs.documents import DocumentFiles, DocumentFormat, DocumentReader
from memd.programs.records import part_of, text_of, time_ms_of
from memd.programs.small_files import read_document

_FORM: Final = DocumentFormat(
    messages="history",
    role="message.role",
    content="message.content",
    key="message.id",
    session={"id": "sessionId", "title": "title", "cwd": "workspaceDirectory"},
    wrappers=("kiro-ide-message",),
)


class ContinueReader(DocumentReader):
    """Reads a session. The summary of a compaction is a message of its own on the command line."""

    def _speech(self, item: Mapping[str, Any]) -> Iterator[tuple[Role, str]]:
        summary = item.get("conversationSummary")
        if summary is None or (isinstance(summary, str) and summary != part_of(item, _FORM.content)):
            yield from super()._speech(item)


class ContinueFiles(DocumentFiles):
    """The folder of sessions: Kiro's has a folder for each project."""

    def read_details(self, folder: Path, session_id: str) -> Session | None:
        """Return when a session began, from the list of sessions next to it."""
        rows = read_document(folder / "sessions.json")
        same = (
            row for row in (rows if isinstance(rows, list) else ()) if part_of(row, "sessionId") == session_id
        )
        created = text_of(part_of(next(same, None), "dateCreated"))
        started_ms = int(created) if created.isdecimal() and len(created) < 20 else None
        return Session(session_id, started_ms=time_ms_of(started_ms))


READER: Final = ContinueFiles(
    r"([^/]+/)?(?!sessions\.json)(?P<id>[A-Za-z0-9_-][A-Za-z0-9._-]{0,199})\.json",
    _FORM,
    ContinueReader,
    "[^/]+",
)
