"""What an agent's memory consists of, file by file, and the page that shows it.

All times are epoch milliseconds, sizes bytes.
"""

from __future__ import annotations

from memd_client.record import field, record
from memd_client.reports import Skipped


@record
class FilesParams:
    """Which files to list, newest first: of some sources (all where none are named), `limit` from `offset` on."""

    agent: str | None = None
    sources: list[str] | None = None
    offset: int = 0
    limit: int = 200


@record
class FileRow:
    """A file of memory as it is on disk now.

    `chunks` is how many the index holds of it, 0 where it wasn't read yet. `title` is its first heading, or empty.
    `date` is the day it is about (YYYY-MM-DD), None where its name begins with none.
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
    """Files, newest first. `total` is how many there are in all; `skipped` are those left out, each with its reason."""

    agent: str
    files: list[FileRow]
    total: int
    skipped: list[Skipped] = field(default_factory=list)


@record
class CuratedEntriesParams:
    """Which entries of `MEMORY.md` and `USER.md` to list, the most important first.

    `kind` is `triggers` (entries with triggers) or `projects` (entries about projects that are all active).
    `active_projects` are keys of the projects at work; entries about others are left out. Without it `triggers` lists
    entries of all projects, and `projects` none. `limit` left out is 512 for `triggers` and 48 for `projects`. `paths`
    lists entries of these notes alone.
    """

    kind: str
    agent: str | None = None
    active_projects: list[str] | None = None
    limit: int | None = None
    paths: list[str] | None = None


@record
class CuratedEntry:
    """An entry of a note, or a part of a long one: its text without comments, and what the comments say.

    `importance` is from 1 to 10, None if no comment gives one. `mtime_ms` is when the note last changed.
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
    """Whose memory the page shows: one agent's, and nothing of any other; or all agents'."""

    agent: str | None = None


@record
class ShowReply:
    """Where the page is. `url` works once, within `expires_s` seconds."""

    url: str
    agent: str | None
    expires_s: int
