"""The agents that an MCP server gives access to."""

from __future__ import annotations

import asyncio
import contextlib
from time import monotonic

from memd_client.aio import AsyncioClient
from memd_client.errors import AgentUnknownError, MemdError
from memd_client.messages import AgentStatus

SHARED_AGENT = "shared"
"""The agent that has the sources which `memctl setup` adds."""

AGENTS_TTL_S = 10.0
"""How long the list of agents is cached: a client lists tools and resources in quick succession."""

AGENTS_TIMEOUT_S = 2.0
"""How long listing tools waits for the agents' ids, which are optional there."""


class AgentScope:
    """The daemon's client, and the agents that a server gives access to. `caller` is the name of the MCP client."""

    def __init__(self, client: AsyncioClient, agent: str | None) -> None:
        self.client = client
        self.agent = agent
        self.caller = ""
        self._rows: list[AgentStatus] = []
        self._default = ""
        self._rows_at = -AGENTS_TTL_S

    def __repr__(self) -> str:
        return f"<AgentScope {self.agent or 'all agents'}>"

    def checked(self, named: object) -> str | None:
        """Return the agent of a call, or raise if it is not accessible; None for the default agent."""
        if named is None:
            return self.agent
        if not isinstance(named, str) or not named.strip():
            raise AgentUnknownError("`agent` must be an agent's id")
        if self.agent is not None and named != self.agent:
            raise AgentUnknownError(f"this server is limited to the agent {self.agent}", hint="omit `agent`")
        return named

    async def agents(self) -> tuple[str, ...]:
        """Return the accessible agents whose memory is enabled."""
        if self.agent is not None:
            return (self.agent,)
        return tuple(row.agent for row in await self._statuses() if row.enabled)

    async def has_work(self) -> bool:
        """Return whether work of agents is recorded; True if the daemon doesn't reply in time."""
        with contextlib.suppress(MemdError, TimeoutError):
            async with asyncio.timeout(AGENTS_TIMEOUT_S):
                rows = [row for row in await self._statuses() if self.agent in (None, row.agent)]
                return any(source.commands or source.file_steps for row in rows for source in row.added)
        return True

    async def _statuses(self) -> list[AgentStatus]:
        if monotonic() - self._rows_at > AGENTS_TTL_S:
            self._rows = (await self.client.status()).agents
            self._rows_at = monotonic()
        return self._rows

    async def default_and_shared(self) -> tuple[str, ...]:
        """Return the default agent and `shared`, which a call without an agent searches; none if they aren't two."""
        if self.agent is not None or SHARED_AGENT not in await self.agents_or_none():
            return ()
        with contextlib.suppress(MemdError, TimeoutError):
            async with asyncio.timeout(AGENTS_TIMEOUT_S):
                self._default = self._default or (await self.client.files(limit=1)).agent
        return (self._default, SHARED_AGENT) if self._default not in ("", SHARED_AGENT) else ()

    async def agents_or_none(self) -> tuple[str, ...]:
        """Return the agents; none if the daemon doesn't reply in time."""
        with contextlib.suppress(MemdError, TimeoutError):
            async with asyncio.timeout(AGENTS_TIMEOUT_S):
                return await self.agents()
        return ()
