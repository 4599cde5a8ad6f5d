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
        """Its present settings; another object after they change."""

    @property
    def limits(self) -> SourceLimits:
        """The limits of its indexed files."""

    async def search(self, params: SearchParams) -> SearchReply:
        """Search the agent's memory."""

    async def get(self, params: GetParams) -> GetReply:
        """Read lines of a memory file."""

    async def embed(self, params: EmbedParams, timeout_s: float) -> EmbedReply:
        """Return the vectors of texts, waiting `timeout_s` at most; not at all for a provider that hangs."""

    async def keep_vector(self, text: str, model: str, vector: bytes) -> bool:
        """Store a caller's vector of a text if it is by this agent's model; return whether it is."""

    def session_started(self, session_key: str) -> bool:
        """Request a sync for a starting session, once per key; return whether it was requested."""

    def compaction_done(self) -> bool:
        """Request a sync; return whether it was requested."""
