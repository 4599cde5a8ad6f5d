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
class CuratedEntriesParams:
    """Which entries of `MEMORY.md` and `USER.md` to list, the most important first.

    `kind` is `triggers` (entries with triggers) or `projects` (entries about projects that are all active).
    `active_projects` are keys of the current projects; entries about other projects are left out. Without it,
    `triggers` lists entries of all projects, and `projects` none. `limit` defaults to 512 for `triggers` and 48 for
    `projects`. `paths` restricts the list to these notes.
    """

    kind: str
    agent: str | None = None
    active_projects: list[str] | None = None
    limit: int | None = None
    paths: list[str] | None = None


@record
class CuratedEntry:
    """An entry of a note, or a part of a long one: its text without comments, and the annotations of the comments.

    `importance` is from 1 to 10, None without an annotation. `mtime_ms` is the note's time of change.
    """

    path: str
    start_line: int
    end_line: int
    text: str
    importance: int | None
    triggers: list[str]
    projects: list[str]
    mtime_ms: int


@record
class CuratedEntriesReply:
    """Entries, the most important first."""

    agent: str
    entries: list[CuratedEntry]


@record
class ShowParams:
    """Which memory the page shows: only that of one agent, or (None) that of all agents."""

    agent: str | None = None


@record
class ShowReply:
    """The address of the page. `url` works once, within `expires_s` seconds."""

    url: str
    agent: str | None
    expires_s: int
