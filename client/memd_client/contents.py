"""Requests that list an agent's memory files and annotated entries, and that open the web page.

All times are epoch milliseconds, sizes bytes.
"""

from __future__ import annotations

from msgspec import field

from memd_client.limits import AgentId, Count, PageSize, SourceNames
from memd_client.problems import SkippedFile
from memd_client.schema import Record


class FilesParams(Record, frozen=True):
    """List the files of an agent's memory as they are on disk, newest first.

    Attributes:
        agent: The agent's id; None: the default agent.
        sources: Only files of these sources: `memory`, `sessions`, or names of sources; None: all.
        offset: How many of the newest to skip.
        limit: How many to list, 1 to 1,000.

    Returns:
        `files` (each with `path`, `source`, `mtime_ms`, `size_bytes`, `chunks`, `title`, `date`), `total` (the
        number of all files) and `skipped`: files that are not indexed, each with its reason.

    Raises:
        AgentUnknownError: No agent has that id.
        MemoryDisabledError: The agent's settings turn memory off.
        BadParamsError: A parameter has the wrong type or is out of its range.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
    """

    agent: AgentId | None = None
    sources: SourceNames | None = None
    offset: Count = 0
    limit: PageSize = 200


class FileEntry(Record, frozen=True):
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


class FilesReply(Record, frozen=True):
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


class OpenPageParams(Record, frozen=True):
    """Open the web page that shows the memory of agents, and return its address.

    Attributes:
        agent: Only this agent; None: all agents.

    Returns:
        `url`, which works once, within `expires_s` seconds: treat it like a password until then.

    Raises:
        AgentUnknownError: No agent has that id.
        PageUnavailableError: The page can't be served.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
    """

    agent: AgentId | None = None


class OpenPageReply(Record, frozen=True):
    """The address of the page. `url` works once, within `expires_s` seconds.

    Attributes:
        url: Address of the page: works once, within `expires_s` seconds.
        agent: The agent shown; None: all.
        expires_s: Validity of `url` in seconds.
    """

    url: str
    agent: str | None
    expires_s: int
