"""A provider in use by one agent: its vector space, its health, and the task that fills the space."""

from __future__ import annotations

from collections.abc import Callable

import trio

from memd.embedding.provider import EmbeddingProvider
from memd.index.cache import SpaceKey
from memd.sync.vectors.fill import VectorFill
from memd.sync.vectors.provider_health import ProviderHealth
from memd.system.clock import Clock
from memd_client.messages import FillProgress


class ActiveProvider:
    """A provider in use, with the task that fills its vector space, if any.

    Args:
        provider: The embedding provider; closed by `close`.
        clock: Wall time.
        on_change: Called when the provider starts failing and when it recovers.

    Attributes:
        fill: Fills the space; None for a space that only answers queries.
    """

    def __init__(self, provider: EmbeddingProvider, clock: Clock, on_change: Callable[[], None]) -> None:
        self.provider = provider
        self.space = SpaceKey(provider.id, provider.model, provider.space.id)
        self.health = ProviderHealth(provider.id, clock, on_change)
        self.fill: VectorFill | None = None
        self._scope = trio.CancelScope()

    def __repr__(self) -> str:
        return f"<ActiveProvider {self.provider.id}/{self.provider.model}, {self.health!r}>"

    async def run(self) -> None:
        """Fill the space until closed; then close the provider."""
        assert self.fill is not None
        try:
            with self._scope:
                await self.provider.warm_up()
                await self.fill.run()
        finally:
            with trio.CancelScope(shield=True):
                await self.provider.aclose()

    async def close(self) -> None:
        """Stop filling and close the provider; requests in progress end with an error."""
        self._scope.cancel()
        with trio.CancelScope(shield=True):
            await self.provider.aclose()

    def filling(self) -> FillProgress | None:
        """Return the progress of filling, or None if no vector is missing."""
        fill = self.fill
        if fill is None or not fill.pending:
            return None
        total = max(fill.texts, fill.pending)
        return FillProgress(
            provider=self.provider.id,
            model=self.provider.model,
            space=self.space.id,
            done=total - fill.pending,
            total=total,
            eta_s=round(fill.needs_s(), 1) if fill.pace.is_known else None,
            tokens=fill.pace.tokens,
        )
