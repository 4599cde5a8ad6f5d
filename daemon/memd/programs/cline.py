"""Conversations of Cline's command line: a document per session, and a manifest next to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from memd.programs.conversation import Role, Session
from memd.programs.documents import DocumentFiles, DocumentFormat, DocumentReader
from memd.programs.records import is_marked, part_of, text_of, title_of
from memd.programs.small_files import read_document

_FORM: Final = DocumentFormat(
    times=("ts",),
    session={"id": "sessionId", "parent": "origin.parentThreadId", "release": "origin.version"},
    wrappers=("user_input",),
)
_NOTICE: Final = re.compile(r"<mode_notice>.*?(?:</mode_notice>|\Z)", re.S)
_NO_PERSON: Final = (
    "[TASK RESUMPTION]",
    "The user approved switching to act mode. Continue with the approved",
)
"""How messages of the user begin that Cline writes."""


class ClineReader(DocumentReader):
    """Reads a document. Cline marks its own messages: summaries of a compaction, notices and errors."""

    def _read_session(self, document: object) -> None:
        super()._read_session(document)
        if part_of(document, "agent") not in (None, "lead"):
            self._result.session.kind = "subagent"
        elif is_marked(part_of(document, "origin.trigger")):
            self._result.session.kind = "machine"

    def _speech(self, item: Mapping[str, Any]) -> Iterator[tuple[Role, str]]:
        metadata = item.get("metadata")
        marks = (
            (metadata.get("kind"), metadata.get("displayRole")) if isinstance(metadata, dict) else (metadata,)
        )
        if any(map(is_marked, marks)):
            return
        for role, text in super()._speech(item):
            words = _NOTICE.sub("", text).strip() if role == "user" else text
            if role == "assistant" or not words.startswith(_NO_PERSON):
                yield role, words


class ClineFiles(DocumentFiles):
    """Cline's folder of sessions."""

    def read_details(self, folder: Path, session_id: str) -> Session | None:
        """Return the title and folder in the manifest, which also tells whether a person had the session."""
        if self.transcript_at(f"{session_id}/{session_id}.messages.json") is None:
            return None
        manifest = read_document(folder / session_id / f"{session_id}.json")
        kind, title = part_of(manifest, "interactive"), text_of(part_of(manifest, "metadata.title"))
        cwd = text_of(part_of(manifest, "cwd"))
        return Session(session_id, "machine" if kind is False else "main", title=title_of(title), cwd=cwd)


READER: Final = ClineFiles(
    r"(?P<root>[^/]{1,200})/(?P<id>[A-Za-z0-9_-][A-Za-z0-9._-]{0,199})\.messages\.json",
    _FORM,
    ClineReader,
    "[^/]+",
)
