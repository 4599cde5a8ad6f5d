"""How a provider does: why it fails and since when, for replies, status and whoever falls back."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from memd.system.clock import Clock
from memd_client.errors import MemdError
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
