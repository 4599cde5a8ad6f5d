"""Tells a client that a memory file it subscribed to has changed.

The daemon's events say that something changed, not where; a look at the list of files says which of those watched did.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from memd.mcp.resources import SOURCES, address_of
from memd_client.aio import Client
from memd_client.errors import MemdError

KINDS = ("sync", "note", "fact")
"""Events after which a file may be another one."""

AGAIN_S = 2.0
"""Wait before events are asked for again after the daemon went away."""

MOST_FILES = 1_000
"""Files of one reply to `files`."""

Version = tuple[int, int]
"""A file's change time and size."""

Tell = Callable[[str], Awaitable[None]]
"""Tells the client of a changed file, by its URI."""


class Updates:
    """The subscriptions of one client."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._wanted: dict[tuple[str, str], Version | None] = {}
        self._some = asyncio.Event()

    def __repr__(self) -> str:
        return f"<Updates of {len(self._wanted)} files>"

    async def add(self, agent: str, path: str) -> None:
        """Watch a file."""
        self._wanted[agent, path] = (await self._versions(agent)).get(path)
        self._some.set()

    def remove(self, agent: str, path: str) -> None:
        """Watch a file no longer."""
        self._wanted.pop((agent, path), None)
        if not self._wanted:
            self._some.clear()

    async def run(self, tell: Tell) -> None:
        """Follow the daemon's events while a file is watched; it ends by being cancelled."""
        while True:
            await self._some.wait()
            try:
                await self._follow(tell)
            except MemdError:
                await asyncio.sleep(AGAIN_S)

    async def _follow(self, tell: Tell) -> None:
        """Follow events until the connection breaks or nothing is watched any more."""
        async with self._client.subscribe(kinds=KINDS) as events:
            await self._compare(
                tell, {agent for agent, _ in self._wanted}
            )  # what changed while nobody followed
            async for event in events:
                if not self._wanted:
                    return
                await self._compare(tell, {event.agent})

    async def _compare(self, tell: Tell, agents: set[str]) -> None:
        """Look at the watched files of some agents, and tell of those that are others now."""
        for agent in sorted(agents):
            watched = [path for each, path in self._wanted if each == agent]
            if not watched:
                continue
            versions = await self._versions(agent)
            for path in watched:
                version = versions.get(path)
                if self._wanted.get((agent, path), version) != version:
                    self._wanted[agent, path] = version
                    await tell(address_of(agent, path))

    async def _versions(self, agent: str) -> dict[str, Version]:
        """Return how an agent's files are now, by path."""
        versions: dict[str, Version] = {}
        while True:
            reply = await self._client.files(
                agent=agent, sources=SOURCES, offset=len(versions), limit=MOST_FILES
            )
            versions |= {row.path: (row.mtime_ms, row.size_bytes) for row in reply.files}
            if not reply.files or len(versions) >= reply.total:
                return versions
