"""Creation of an agent's embedding providers, and when to use its fallback."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from memd.embedding.choose.choose import Selection
from memd.embedding.provider import EmbeddingProvider
from memd.settings.schema import MemorySearch
from memd.system.clock import has_passed
from memd_client.messages import Degradation

PERMANENT_FAILURES = frozenset(
    {
        "provider_auth",
        "provider_quota_exhausted",
        "provider_model_unknown",
        "token_budget_exhausted",
        "model_missing",
        "model_invalid",
        "local_extra_missing",
    }
)
"""Failures that do not pass without user action: the fallback is used at once."""

FALLBACK_AFTER_MS = 20_000
"""How long any other failure lasts before the fallback is used: filling its space may cost money."""


class ProviderChooser(Protocol):
    """Creates providers; see `memd.embedding.choose.choose.ProviderFactory`."""

    async def choose(self, settings: MemorySearch, agent_id: str) -> Selection:
        """Return the configured provider, else its fallback, else none."""

    async def make(self, name: str, settings: MemorySearch, agent_id: str) -> EmbeddingProvider:
        """Return the provider of that name, or raise the error that makes it unavailable."""

    async def rebuild(
        self, recipe: Mapping[str, str], settings: MemorySearch, agent_id: str
    ) -> EmbeddingProvider | None:
        """Return the provider of an earlier space, None if it is no longer available."""


def is_time_to_fall_back(failing: Degradation, now_ms: int) -> bool:
    """Return whether the primary's failure is permanent or has lasted long enough to fall back."""
    return failing.code in PERMANENT_FAILURES or has_passed(FALLBACK_AFTER_MS, failing.since_ms, now_ms)
