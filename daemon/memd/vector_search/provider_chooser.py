"""Who makes an agent's providers, and when its fallback is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from memd.embedding.choose.choose import Selection
from memd.embedding.provider import EmbeddingProvider
from memd.settings.schema import MemorySearch
from memd.system.clock import has_passed
from memd_client.messages import Degraded

LASTING = frozenset(
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
"""Failures that don't pass by themselves: the fallback is used at once."""

FALLBACK_AFTER_MS = 20_000
"""How long any other failure lasts before the fallback is used: filling its space may cost money."""


class Chooser(Protocol):
    """Who makes providers; see `memd.embedding.choose.choose.Providers`."""

    async def choose(self, settings: MemorySearch, agent_id: str) -> Selection:
        """Return the provider the settings want, else their fallback, else none."""

    async def make(self, name: str, settings: MemorySearch, agent_id: str) -> EmbeddingProvider:
        """Return the provider of that name, or raise why it can't be had."""

    async def rebuild(
        self, recipe: Mapping[str, str], settings: MemorySearch, agent_id: str
    ) -> EmbeddingProvider | None:
        """Return the provider of an earlier space, None where it can't be had any more."""


def is_time_to_fall_back(failing: Degraded, now_ms: int) -> bool:
    """Return whether a failure of the primary is one to fall back from by now."""
    return failing.code in LASTING or has_passed(FALLBACK_AFTER_MS, failing.since_ms, now_ms)
