"""Requests that list an agent's memory files and annotated entries, and that open the web page.

All times are epoch milliseconds, sizes bytes.
"""

from __future__ import annotations

from memd_client.problems import SkippedFile
from memd_client.record import field, record


@record
class FilesParams:
    """Which files to list, newest first: of some sources (None: of all), `limit` from `offset` on.

    Attributes:
        agent: The agent's id; None: the default agent.
        sources: Files of these sources only: `memory`, `sessions`, or names of sources.
        offset: How many of the newest to omit.
        limit: 1 to 1,000.
    """

    agent: str | None = None
    sources: list[str] | None = None
    offset: int = 0
    limit: int = 200


@record
class FileEntry:
    """A memory file, in its present state on disk.

    Attributes:
        path: Path relative to the workspace, as in a hit.
        source: `memory` (readable with `get`) or `sessions`.
        mtime_ms: Last change, epoch ms.
        size_bytes: Size.
        chunks: Chunks in the index; 0: not read yet, or empty.
        title: First heading, or empty.
        date: The day that its name begins with, YYYY-MM-DD; or None.
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
    """Files, newest first. `total` counts all files; `skipped` lists those not indexed, each with its reason.

    Attributes:
        agent: The agent's id.
        files: Files, newest first.
        total: Number of all, in all pages.
        skipped: Files that are not indexed, or only in part.
    """

    agent: str
    files: list[FileEntry]
    total: int
    skipped: list[SkippedFile] = field(default_factory=list)


@record
class OpenPageParams:
    """Which memory the page shows: only that of one agent, or (None) that of all agents.

    Attributes:
        agent: Show this agent only; None: all agents.
    """

    agent: str | None = None


@record
class OpenPageReply:
    """The address of the page. `url` works once, within `expires_s` seconds.

    Attributes:
        url: Address of the page: works once, within `expires_s` seconds.
        agent: The agent shown; None: all.
        expires_s: Validity of `url` in seconds.
    """

    url: str
    agent: str | None
    expires_s: int
