"""When to use the fallback of an agent's embedding provider."""

from __future__ import annotations

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


def is_time_to_fall_back(failing: Degradation, now_ms: int) -> bool:
    """Return whether the primary's failure is permanent or has lasted long enough to fall back."""
    return failing.code in PERMANENT_FAILURES or has_passed(FALLBACK_AFTER_MS, failing.since_ms, now_ms)
