"""When an agent's embedding provider is chosen, left for its fallback, and returned to: a table of states and steps.

The *primary* is the configured provider, the *standby* its configured fallback. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from msgspec import Struct

from memd.system.clock import has_passed
from memd_client.messages import Degradation

State = Literal["off", "unavailable", "primary", "standby"]
"""No provider is configured; the configured one can't be created (its fallback may be in use); the primary is in use;
the standby is in use because the primary fails."""

Step = Literal["wait", "choose", "fall_back", "probe", "return"]

PERMANENT_FAILURES: Final = frozenset(
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

FALLBACK_AFTER_MS: Final = 20_000
"""How long any other failure lasts before the fallback is used: filling its space may cost money."""

CHOOSE_INTERVAL_MS: Final = 60_000
"""How often creating a failed provider is retried: its key or model file may be available by then."""

PROBE_INTERVAL_MS: Final = 10_000
"""How often a failing primary is probed, if its circuit breaker allows it."""


class Situation(Struct, frozen=True):
    """What the next step depends on.

    `failure` is that of the primary. `has_fallback` is whether a fallback is configured, `is_fallback_broken` whether
    it couldn't be created. `is_admitted` is whether the primary's circuit breaker lets a call pass. `tried_ms` is the
    time of the last attempt to create or probe a provider.
    """

    state: State
    failure: Degradation | None = None
    has_fallback: bool = False
    is_fallback_broken: bool = False
    is_admitted: bool = True
    tried_ms: int = 0
    now_ms: int = 0

    def has_waited(self, interval_ms: int) -> bool:
        """Return whether the last attempt is this long ago."""
        return has_passed(interval_ms, self.tried_ms, self.now_ms)


def _is_fallback_due(situation: Situation) -> bool:
    failure = situation.failure
    if failure is None or not situation.has_fallback:
        return False
    if situation.is_fallback_broken and not situation.has_waited(CHOOSE_INTERVAL_MS):
        return False
    is_permanent = failure.code in PERMANENT_FAILURES
    return is_permanent or has_passed(FALLBACK_AFTER_MS, failure.since_ms, situation.now_ms)


TRANSITIONS: Final[tuple[tuple[State, Callable[[Situation], bool], Step], ...]] = (
    ("unavailable", lambda situation: situation.has_waited(CHOOSE_INTERVAL_MS), "choose"),
    ("primary", _is_fallback_due, "fall_back"),
    ("standby", lambda situation: situation.failure is None, "return"),
    ("standby", lambda situation: situation.is_admitted and situation.has_waited(PROBE_INTERVAL_MS), "probe"),
)
"""The first row whose state and condition hold gives the step."""


def next_step(situation: Situation) -> Step:
    """Return what to do next about the providers."""
    return next(
        (step for state, holds, step in TRANSITIONS if state == situation.state and holds(situation)), "wait"
    )
