"""ProviderHealth of a provider: its current failure, isolation of texts that cause failures, and its speed."""

from __future__ import annotations

from collections.abc import Callable

from memd.system.clock import Clock
from memd.system.log import log
from memd_client.errors import (
    MemdError,
    ModelChildError,
    ProviderFailedError,
    ProviderReplyError,
    ProviderUnreachableError,
)
from memd_client.messages import Degradation


class ProviderHealth:
    """The outcome of the latest calls of one provider."""

    def __init__(self, provider: str, clock: Clock, on_change: Callable[[], None]) -> None:
        self._provider = provider
        self._clock = clock
        self._on_change = on_change
        self.degraded: Degradation | None = None

    def __repr__(self) -> str:
        return f"<ProviderHealth of {self._provider}: {self.degraded.code if self.degraded else 'fine'}>"

    def failed(self, error: MemdError) -> Degradation:
        """Record a failure and return it; the time of the first failure in a row is kept."""
        before = self.degraded
        since = before.since_ms if before is not None else self._clock()
        self.degraded = Degradation(error.code, error.message, since, error.hint)
        if before is None or before.code != error.code:
            log.warning("embedding.failed", provider=self._provider, code=error.code, error=error.message)
            self._on_change()
        return self.degraded

    def worked(self) -> None:
        """Record a success, which clears an earlier failure."""
        if self.degraded is not None:
            self.degraded = None
            log.info("embedding.recovered", provider=self._provider)
            self._on_change()


TEXT_S = 0.006
"""Estimated fixed time per text, with a small local model."""

FIRST_GUESS_S = 0.00005
"""Estimated time per character before any text was embedded."""

WEIGHT = 0.2
"""Weight of the latest batch in the moving average of the time per character."""

CHARACTERS_PER_TOKEN = 4


class EmbeddingSpeed:
    """The embedding speed of one provider, and the number of characters to embed."""

    def __init__(self) -> None:
        self.characters = 0
        self.is_known = False
        self._character_s = FIRST_GUESS_S

    def __repr__(self) -> str:
        return f"<EmbeddingSpeed {self._character_s * 1e6:.1f} us a character, {self.characters} to go>"

    @property
    def tokens(self) -> int:
        """Estimated number of tokens to embed."""
        return self.characters // CHARACTERS_PER_TOKEN

    def note(self, took_s: float, texts: int, characters: int) -> None:
        """Record the time that some texts took."""
        self.characters = max(0, self.characters - characters)
        pace_s = max(0.0, took_s - texts * TEXT_S) / max(1, characters)
        self._character_s += WEIGHT * (pace_s - self._character_s)
        self.is_known = True

    def needs_s(self, texts: int) -> float:
        """Return the estimated time for `texts` texts with all waiting characters, without concurrency."""
        return texts * TEXT_S + self.characters * self._character_s


SUSPICIOUS = (ProviderFailedError, ProviderReplyError, ProviderUnreachableError, ModelChildError)
"""Errors that a text may cause. Their subclasses (a quota, a key) have other causes."""

RAISED_AFTER = 2
"""Failures in a row after which the text that causes them is searched for."""


class FailureIsolation:
    """Finds the text that makes a provider fail, by halving the number of texts after each failure in a row."""

    def __init__(self) -> None:
        self._failures = 0

    def __repr__(self) -> str:
        return f"<FailureIsolation {self._failures} failures in a row>"

    @property
    def is_raised(self) -> bool:
        """Whether texts have to be embedded in small parts."""
        return self._failures >= RAISED_AFTER

    def is_suspicious(self, error: MemdError) -> bool:
        """Return whether a text may be the cause of a failure."""
        return type(error) in SUSPICIOUS

    def record(self, error: MemdError) -> None:
        """Count a failure that a text may have caused."""
        if self.is_suspicious(error):
            self._failures += 1

    def clear(self) -> None:
        """Reset the count after a success, or after the text was found."""
        self._failures = 0

    def part(self, most: int) -> int:
        """Return how many texts to embed together: half as many after each failure, at least one."""
        return max(1, most >> (self._failures - RAISED_AFTER + 1))
