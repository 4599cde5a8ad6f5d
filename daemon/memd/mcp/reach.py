"""Which agents a server reaches, and the daemon that has their memory."""

from __future__ import annotations

import asyncio
import contextlib
from time import monotonic

from memd_client.aio import Client
from memd_client.errors import AgentUnknownError, MemdError

KNOWN_S = 10.0
"""For how long a list of agents counts: a client asks for tools and resources right after each other."""

LOOK_S = 2.0
"""How long listing tools waits for the agents' names; without them an agent can still be named."""


class Reach:
    """The daemon, and the agents of it that may be asked for."""

    def __init__(self, client: Client, agent: str | None) -> None:
        self.client = client
        self.agent = agent
        self._known: tuple[str, ...] = ()
        self._known_at = -KNOWN_S

    def __repr__(self) -> str:
        return f"<Reach {self.agent or 'all agents'}>"

    def checked(self, named: object) -> str | None:
        """Return the agent a call means; None for the default agent."""
        if named is None:
            return self.agent
        if not isinstance(named, str) or not named.strip():
            raise AgentUnknownError("`agent` must be an agent's id, as text")
        if self.agent is not None and named != self.agent:
            raise AgentUnknownError(
                f"this server serves the agent {self.agent} alone", hint="Leave `agent` out."
            )
        return named

    async def agents(self) -> tuple[str, ...]:
        """Return the agents that may be asked for, those with memory turned off left out."""
        if self.agent is not None:
            return (self.agent,)
        if monotonic() - self._known_at > KNOWN_S:
            status = await self.client.status()
            self._known = tuple(each.agent for each in status.agents if each.enabled)
            self._known_at = monotonic()
        return self._known

    async def agents_or_none(self) -> tuple[str, ...]:
        """Return the agents, none where the daemon doesn't tell in time."""
        with contextlib.suppress(MemdError, TimeoutError):
            async with asyncio.timeout(LOOK_S):
                return await self.agents()
        return ()
