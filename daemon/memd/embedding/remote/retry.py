"""When a call that failed is made again at once. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from memd_client.errors import ProviderFailedError, ProviderRateLimitedError, ProviderUnreachableError

TRIES: Final = 3
"""Calls made for a batch before its failure counts. A batch is asked for again later, so more would only hold up
the others."""

QUERY_TRIES: Final = 2
"""Calls made for a question: somebody waits."""

FIRST_BACKOFF_S: Final = 0.5
LONGEST_BACKOFF_S: Final = 8.0
"""Pauses between tries double from the first to the longest. A provider that names a longer pause is left alone."""

SPREAD: Final = 0.5
"""Share of a pause that chance adds, so that calls that failed together don't come back together."""


def backoff_s(attempt: int, random: Callable[[], float]) -> float:
    """Return the pause after a failed try, in seconds."""
    base = min(LONGEST_BACKOFF_S, FIRST_BACKOFF_S * 2.0 ** min(attempt, 10))
    return min(LONGEST_BACKOFF_S, base * (1.0 + SPREAD * random()))


def is_transient(error: ProviderFailedError) -> bool:
    """Return whether the same call may succeed a moment later.

    Quota, key, model, budget and a refused text stay as they are until somebody acts. A reply that can't be used
    was paid for: it isn't bought again at once, but when its window is over.
    """
    if isinstance(error, ProviderUnreachableError | ProviderRateLimitedError):
        return True
    return type(error) is ProviderFailedError and bool(error.data.get("transient"))


def named_pause_s(error: ProviderFailedError) -> float:
    """Return the pause the provider named, in seconds; 0 where it named none."""
    named = error.data.get("retry_after_s")
    return max(0.0, float(named)) if isinstance(named, int | float) and named == named else 0.0
