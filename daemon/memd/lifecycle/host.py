"""What an agent's life is lived with: its memory, as this room sees it."""

from __future__ import annotations

from typing import Protocol

from memd.settings.agents import AgentConfig
from memd.sync.disk.capacity import SourceLimits
from memd_client.messages import EmbedParams, EmbedReply, GetParams, GetReply, SearchParams, SearchReply


class Host(Protocol):
    """One agent's memory. Every call may raise a `MemdError`."""

    @property
    def agent_id(self) -> str:
        """Whose memory this is."""

    @property
    def config(self) -> AgentConfig:
        """Its settings as they are now; after a change of them another object."""

    @property
    def limits(self) -> SourceLimits:
        """How much of its files is indexed."""

    async def search(self, params: SearchParams) -> SearchReply:
        """Find what answers a question."""

    async def get(self, params: GetParams) -> GetReply:
        """Read lines of an allowed file."""

    async def embed(self, params: EmbedParams) -> EmbedReply:
        """Turn texts into vectors."""

    async def keep_vector(self, text: str, model: str, vector: bytes) -> bool:
        """Keep a vector somebody else made of a text by a model; say whether it is one of this agent's model."""

    def session_started(self, session_key: str) -> bool:
        """Have a sync run for a session that starts, once for each key; say whether one was asked for."""

    def compaction_done(self) -> bool:
        """Have a sync run soon; say whether one was asked for."""
