"""How a provider does: why it fails and since when, whether a text is the reason, and how fast it embeds."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from memd.system.clock import Clock
from memd_client.errors import (
    MemdError,
    ModelChildError,
    ProviderFailedError,
    ProviderReplyError,
    ProviderUnreachableError,
)
from memd_client.messages import Degraded

log = structlog.get_logger(__name__)


class Health:
    """What came of the latest calls of one provider."""

    def __init__(self, provider: str, clock: Clock, on_change: Callable[[], None]) -> None:
        self._provider = provider
        self._clock = clock
        self._on_change = on_change
        self.degraded: Degraded | None = None

    def __repr__(self) -> str:
        return f"<Health of {self._provider}: {self.degraded.code if self.degraded else 'fine'}>"

    def failed(self, error: MemdError) -> Degraded:
        """Remember and return why meaning is missing; the time of the first failure stays."""
        before = self.degraded
        since = before.since_ms if before is not None else self._clock()
        self.degraded = Degraded(error.code, error.message, since, error.hint)
        if before is None or before.code != error.code:
            log.warning("embedding.failed", provider=self._provider, code=error.code, error=error.message)
            self._on_change()
        return self.degraded

    def worked(self) -> None:
        """Forget an earlier failure."""
        if self.degraded is not None:
            self.degraded = None
            log.info("embedding.recovered", provider=self._provider)
            self._on_change()


TEXT_S = 0.006
"""What a text takes however short it is, about: with a small local model."""

FIRST_GUESS_S = 0.00005
"""What a character is thought to take before any was embedded."""

WEIGHT = 0.2
"""Weight of the last batch in what a character takes: it follows within some batches, and one odd one passes."""

CHARACTERS_PER_TOKEN = 4


class Pace:
    """The pace of one provider, and how many characters wait for it."""

    def __init__(self) -> None:
        self.characters = 0
        self.is_known = False
        self._character_s = FIRST_GUESS_S

    def __repr__(self) -> str:
        return f"<Pace {self._character_s * 1e6:.1f} us a character, {self.characters} to go>"

    @property
    def tokens(self) -> int:
        """About how many tokens wait."""
        return self.characters // CHARACTERS_PER_TOKEN

    def note(self, took_s: float, texts: int, characters: int) -> None:
        """Note how long texts took."""
        self.characters = max(0, self.characters - characters)
        pace_s = max(0.0, took_s - texts * TEXT_S) / max(1, characters)
        self._character_s += WEIGHT * (pace_s - self._character_s)
        self.is_known = True

    def needs_s(self, texts: int) -> float:
        """Return about how long so many texts and all waiting characters will take, one batch after the other."""
        return texts * TEXT_S + self.characters * self._character_s


SUSPICIOUS = (ProviderFailedError, ProviderReplyError, ProviderUnreachableError, ModelChildError)
"""Failures that a text can be the reason of. Classes below them (a quota, a key) have reasons of their own."""

RAISED_AFTER = 2
"""Failures in a row after which it is looked for."""


class FailureIsolation:
    """How often in a row embedding failed, and so how few texts are tried together."""

    def __init__(self) -> None:
        self._failures = 0

    def __repr__(self) -> str:
        return f"<FailureIsolation {self._failures} failures in a row>"

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
