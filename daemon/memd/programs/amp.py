"""Conversations of Amp that are still on this machine: since 2026 it keeps them on its server."""

from __future__ import annotations

from typing import Final

from memd.programs.documents import DocumentFiles, DocumentFormat, DocumentReader
from memd.programs.records import path_of_uri


class AmpReader(DocumentReader):
    """Reads a thread."""

    def _read_session(self, document: object) -> None:
        super()._read_session(document)
        self._read.session.cwd = path_of_uri(self._read.session.cwd)


READER: Final = DocumentFiles(
    r"(?P<id>T-[A-Za-z0-9-]{1,100})\.json",
    DocumentFormat(
        times=("meta.sentAt", "usage.timestamp"),
        session={"id": "id", "title": "title", "cwd": "env.initial.trees.0.uri", "started_ms": "created"},
    ),
    AmpReader,
)
