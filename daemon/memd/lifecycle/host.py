"""One agent's memory, as the lifecycle package uses it."""

from __future__ import annotations

from typing import Protocol

from memd.settings.agents import AgentConfig
from memd.sync.disk.capacity import SourceLimits
from memd_client.messages import EmbedParams, EmbedReply, GetParams, GetReply, SearchParams, SearchReply


class Host(Protocol):
    """One agent's memory. Every call may raise a `MemdError`."""

    @property
    def agent_id(self) -> str:
        """The agent's id."""

    @property
    def config(self) -> AgentConfig:
        """Its settings as they are now; after a change of them another object."""

    @property
    def limits(self) -> SourceLimits:
        """How much of its files is indexed."""

    async def search(self, params: SearchParams) -> SearchReply:
        """Answer a search."""

    async def get(self, params: GetParams) -> GetReply:
        """Read lines of an allowed file."""

    async def embed(self, params: EmbedParams) -> EmbedReply:
        """Turn texts into vectors."""

    async def keep_vector(self, text: str, model: str, vector: bytes) -> bool:
        """Keep a vector the caller made of a text; return whether this agent's model made it."""

    def session_started(self, session_key: str) -> bool:
        """Request a sync for a session that starts, once for each key; return whether it was requested."""

    def compaction_done(self) -> bool:
        """Request a sync; return whether it was requested."""
