"""Files of memory as an MCP client sees them: their addresses, the list of them page by page, and what is in them.

Only what the daemon lists and `get` reads is there: notes, never transcripts.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from memd.mcp.reach import Reach
from memd_client.errors import BadParamsError, PathRefusedError
from memd_client.messages import FileRow

SCHEME = "memory"
MIME_TYPE = "text/markdown"

PAGE_FILES = 100
"""Files of one page of the list."""

SOURCES = ("memory",)
"""Transcripts are found by a search, and not read as files."""


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A file of an agent's memory."""

    agent: str
    row: FileRow

    @property
    def address(self) -> str:
        """Its URI."""
        return address_of(self.agent, self.row.path)


def address_of(agent: str, path: str) -> str:
    """Return the URI of a file, such as `memory://main/memory/2026-01-16.md`.

    Whoever parses a URI takes `..` for a way up; in the path of a file outside of the workspace it is part of the name.
    """
    parted = "" if ".." in path.split("/") else "/"
    return f"{SCHEME}://{quote(agent, safe='')}/{quote(path, safe=parted)}"


def template_of(agent: str | None) -> str:
    """Return the URI template of all files, of one agent where it is fixed."""
    return f"{SCHEME}://{'{agent}' if agent is None else quote(agent, safe='')}/{{+path}}"


def place_of(reach: Reach, address: str) -> tuple[str, str]:
    """Return the agent and the path that a URI names."""
    try:
        parts = urlsplit(address)
        agent, path = (
            unquote(parts.netloc, errors="strict"),
            unquote(parts.path, errors="strict").removeprefix("/"),
        )
    except ValueError:
        raise _no_address(reach) from None
    if parts.scheme != SCHEME or not agent or not path or parts.query or parts.fragment:
        raise _no_address(reach)
    checked = reach.checked(agent)
    assert checked is not None
    return checked, path


async def page_of(reach: Reach, cursor: str | None) -> tuple[list[MemoryFile], str | None]:
    """Return a page of the list of files, agent by agent and the newest first, and the cursor of the next page."""
    agents = await reach.agents()
    agent, offset = _start(agents, cursor)
    found: list[MemoryFile] = []
    while agent is not None:
        limit = PAGE_FILES - len(found)
        reply = await reach.client.files(agent=agent, sources=SOURCES, offset=offset, limit=limit)
        found += [MemoryFile(agent, row) for row in reply.files]
        offset += len(reply.files)
        if not reply.files or offset >= reply.total:
            agent, offset = _after(agents, agent), 0
        if len(found) == PAGE_FILES:
            break
    return found, None if agent is None else _cursor(agent, offset)


async def text_of(reach: Reach, agent: str, path: str) -> str:
    """Return the whole text of a file."""
    parts: list[str] = []
    line = 1
    while True:
        reply = await reach.client.get(path, agent=agent, from_line=line)
        parts.append(reply.text)
        line += reply.lines
        if not reply.truncated or not reply.lines:
            return "".join(parts)


def _no_address(reach: Reach) -> PathRefusedError:
    return PathRefusedError(
        "that is no address of a memory file",
        hint=f"Addresses here are {template_of(reach.agent)}; list them.",
    )


def _start(agents: Sequence[str], cursor: str | None) -> tuple[str | None, int]:
    """Return where a page begins."""
    if cursor is None:
        return (agents[0] if agents else None), 0
    try:
        agent, offset = json.loads(base64.urlsafe_b64decode(cursor))
    except (ValueError, TypeError, binascii.Error):
        agent, offset = None, 0
    if agent not in agents or not isinstance(offset, int) or offset < 0:
        raise BadParamsError(
            "that cursor is none of this server's", hint="Begin the list anew, without a cursor."
        )
    return str(agent), offset


def _after(agents: Sequence[str], agent: str) -> str | None:
    """Return the next agent; None after the last."""
    at = agents.index(agent) + 1
    return agents[at] if at < len(agents) else None


def _cursor(agent: str, offset: int) -> str:
    return base64.urlsafe_b64encode(json.dumps([agent, offset]).encode()).decode()
