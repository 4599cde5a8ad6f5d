"""Memory files as MCP resources: URIs, pages of the list, text, and subscriptions.

Only notes that the daemon lists and `get` reads; no transcripts.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from memd.mcp.scope import AgentScope
from memd_client.aio import AsyncioClient
from memd_client.errors import BadParamsError, MemdError, PathRefusedError
from memd_client.escaping import show_unseen, text_of_get
from memd_client.messages import FileEntry

SCHEME = "memory"
MIME_TYPE = "text/markdown"

PAGE_FILES = 100
"""Files of one page of the list."""

SOURCES = ("memory",)
"""Transcripts are not offered as files."""


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A file in an agent's memory."""

    agent: str
    row: FileEntry

    @property
    def uri(self) -> str:
        """The URI of the file."""
        return uri_of(self.agent, self.row.path)


def uri_of(agent: str, path: str) -> str:
    """Return the URI of a file, such as `memory://main/memory/2026-01-16.md`.

    Parsers of URIs resolve `..`; in the path of a file outside the workspace it has to be kept, so slashes are escaped.
    """
    parted = "" if ".." in path.split("/") else "/"
    return f"{SCHEME}://{quote(agent, safe='')}/{quote(path, safe=parted)}"


def template_of(agent: str | None) -> str:
    """Return the URI template of files, of one agent if it is fixed."""
    return f"{SCHEME}://{'{agent}' if agent is None else quote(agent, safe='')}/{{+path}}"


def parse_uri(scope: AgentScope, uri: str) -> tuple[str, str]:
    """Return the agent and the path in a URI."""
    try:
        parts = urlsplit(uri)
        agent, path = (
            unquote(parts.netloc, errors="strict"),
            unquote(parts.path, errors="strict").removeprefix("/"),
        )
    except ValueError:
        raise _invalid_uri(scope) from None
    if parts.scheme != SCHEME or not agent or not path or parts.query or parts.fragment:
        raise _invalid_uri(scope)
    checked = scope.checked(agent)
    assert checked is not None
    return checked, path


async def page_of(scope: AgentScope, cursor: str | None) -> tuple[list[MemoryFile], str | None]:
    """Return a page of the files, by agent and newest first, and the cursor of the next page."""
    agents = await scope.agents()
    agent, offset = _start(agents, cursor)
    found: list[MemoryFile] = []
    while agent is not None:
        limit = PAGE_FILES - len(found)
        reply = await scope.client.files(agent=agent, sources=SOURCES, offset=offset, limit=limit)
        found += [MemoryFile(agent, row) for row in reply.files]
        offset += len(reply.files)
        if not reply.files or offset >= reply.total:
            agent, offset = _after(agents, agent), 0
        if len(found) == PAGE_FILES:
            break
    return found, None if agent is None else _cursor(agent, offset)


async def text_of(scope: AgentScope, agent: str, path: str) -> str:
    """Return the whole text of a file, with the lines of other people in blocks."""
    parts: list[str] = []
    line = 1
    while True:
        reply = await scope.client.get(path, agent=agent, from_line=line)
        parts.append(show_unseen(text_of_get(reply)))
        line += reply.lines
        if not reply.truncated or not reply.lines:
            return "".join(parts)


def _invalid_uri(scope: AgentScope) -> PathRefusedError:
    return PathRefusedError(
        "not the URI of a memory file",
        hint=f"use a URI of the form {template_of(scope.agent)} from the list of resources",
    )


def _start(agents: Sequence[str], cursor: str | None) -> tuple[str | None, int]:
    """Return the agent and offset at which a page starts."""
    if cursor is None:
        return (agents[0] if agents else None), 0
    try:
        agent, offset = json.loads(base64.urlsafe_b64decode(cursor))
    except (ValueError, TypeError, binascii.Error):
        agent, offset = None, 0
    if agent not in agents or not isinstance(offset, int) or offset < 0:
        raise BadParamsError("unknown cursor", hint="list the resources again without a cursor")
    return str(agent), offset


def _after(agents: Sequence[str], agent: str) -> str | None:
    """Return the next agent; None after the last."""
    at = agents.index(agent) + 1
    return agents[at] if at < len(agents) else None


def _cursor(agent: str, offset: int) -> str:
    return base64.urlsafe_b64encode(json.dumps([agent, offset]).encode()).decode()


# --- subscriptions -----------------------------------------------------------------------------------------

CHANGING_EVENTS = ("sync", "note", "fact")
"""Kinds of events after which a file may have changed."""

RESUBSCRIBE_S = 2.0
"""Delay before subscribing again after the connection is lost."""

FILES_PER_REPLY = 1_000
"""Files of one reply to `files`."""

Version = tuple[int, int]
"""Modification time and size of a file."""

SendChange = Callable[[str], Awaitable[None]]
"""Notifies the client of a changed file, by its URI."""


class ResourceSubscriptions:
    """The files that a client subscribed to.

    The daemon's events don't name the changed files; the list of files shows which have changed.
    """

    def __init__(self, client: AsyncioClient) -> None:
        self._client = client
        self._wanted: dict[tuple[str, str], Version | None] = {}
        self._some = asyncio.Event()

    def __repr__(self) -> str:
        return f"<ResourceSubscriptions of {len(self._wanted)} files>"

    async def add(self, agent: str, path: str) -> None:
        """Watch a file."""
        self._wanted[agent, path] = (await self._versions(agent)).get(path)
        self._some.set()

    def remove(self, agent: str, path: str) -> None:
        """Stop watching a file."""
        self._wanted.pop((agent, path), None)
        if not self._wanted:
            self._some.clear()

    async def run(self, notify: SendChange) -> None:
        """Follow the daemon's events while a file is watched; runs until cancelled."""
        while True:
            await self._some.wait()
            try:
                await self._follow(notify)
            except MemdError:
                await asyncio.sleep(RESUBSCRIBE_S)

    async def _follow(self, notify: SendChange) -> None:
        """Follow events until the connection breaks or no file is watched."""
        async with self._client.subscribe(kinds=CHANGING_EVENTS) as events:
            await self._compare(
                notify, {agent for agent, _ in self._wanted}
            )  # changes before the subscription
            async for event in events:
                if not self._wanted:
                    return
                await self._compare(notify, {event.agent})

    async def _compare(self, notify: SendChange, agents: set[str]) -> None:
        """Notify the client of watched files that have changed."""
        for agent in sorted(agents):
            watched = [path for each, path in self._wanted if each == agent]
            if not watched:
                continue
            versions = await self._versions(agent)
            for path in watched:
                version = versions.get(path)
                if self._wanted.get((agent, path), version) != version:
                    self._wanted[agent, path] = version
                    await notify(uri_of(agent, path))

    async def _versions(self, agent: str) -> dict[str, Version]:
        """Return the current versions of an agent's files by path."""
        versions: dict[str, Version] = {}
        while True:
            reply = await self._client.files(
                agent=agent, sources=SOURCES, offset=len(versions), limit=FILES_PER_REPLY
            )
            versions |= {row.path: (row.mtime_ms, row.size_bytes) for row in reply.files}
            if not reply.files or len(versions) >= reply.total:
                return versions
