"""When a provider fails again and again, one of the texts may be the reason: a model that crashes over it, say."""

from __future__ import annotations

from memd_client.errors import (
    MemdError,
    ModelChildError,
    ProviderFailedError,
    ProviderReplyError,
    ProviderUnreachableError,
)

SUSPICIOUS = (ProviderFailedError, ProviderReplyError, ProviderUnreachableError, ModelChildError)
"""Failures that a text can be the reason of. Classes below them (a quota, a key) have reasons of their own."""

RAISED_AFTER = 2
"""Failures in a row after which it is looked for."""


class FailureIsolation:
    """How often in a row embedding failed, and so how few texts are tried together."""

    def __init__(self) -> None:
        self._failures = 0

    def __repr__(self) -> str:
        return f"<Suspicion {self._failures} failures in a row>"

    @property
    def is_raised(self) -> bool:
        """Whether texts are to be tried in small parts."""
        return self._failures >= RAISED_AFTER

    def is_suspicious(self, error: MemdError) -> bool:
        """Return whether a text can be the reason of a failure."""
        return type(error) in SUSPICIOUS

    def note(self, error: MemdError) -> None:
        """Note that embedding failed."""
        if self.is_suspicious(error):
            self._failures += 1

    def clear(self) -> None:
        """Note that the reason was found, or that nothing fails any more."""
        self._failures = 0

    def part(self, most: int) -> int:
        """Return how many texts are tried together: half as many with each failure, at least one."""
        return max(1, most >> (self._failures - RAISED_AFTER + 1))
