"""Conversations of Amp that are still on this machine: since 2026 it keeps them on its server."""

from __future__ import annotations

from typing import Final

from memd.programs.documents import DocumentFiles, DocumentFormat

READER: Final = DocumentFiles(
    r"(?P<id>T-[A-Za-z0-9-]{1,100})\.json",
    DocumentFormat(
        times=("meta.sentAt", "usage.timestamp"),
        session={"id": "id", "title": "title", "cwd": "env.initial.trees.0.uri", "started_ms": "created"},
    ),
)
