"""Requests that list an agent's memory files and annotated entries, and that open the web page.

All times are epoch milliseconds, sizes bytes.
"""

from __future__ import annotations

from memd_client.record import field, record
from memd_client.reports import SkippedFile


@record
class FilesParams:
    """Which files to list, newest first: of some sources (None: of all), `limit` from `offset` on."""

    agent: str | None = None
    sources: list[str] | None = None
    offset: int = 0
    limit: int = 200


@record
class FileEntry:
    """A memory file, in its present state on disk.

    `chunks` is its number of chunks in the index, 0 if it was not read yet. `title` is its first heading, or empty.
    `date` is the day at the start of its name (YYYY-MM-DD), or None.
    """

    path: str
    source: str
    mtime_ms: int
    size_bytes: int
    chunks: int
    title: str = ""
    date: str | None = None


@record
class FilesReply:
    """Files, newest first. `total` counts all files; `skipped` lists those not indexed, each with its reason."""

    agent: str
    files: list[FileEntry]
    total: int
    skipped: list[SkippedFile] = field(default_factory=list)


@record
class OpenPageParams:
    """Which memory the page shows: only that of one agent, or (None) that of all agents."""

    agent: str | None = None


@record
class OpenPageReply:
    """The address of the page. `url` works once, within `expires_s` seconds."""

    url: str
    agent: str | None
    expires_s: int
