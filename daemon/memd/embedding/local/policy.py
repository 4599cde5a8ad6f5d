"""How a model's process is treated: deadlines, back-off, what its status says. No I/O."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from memd.embedding.local.jobs import Kind
from memd.embedding.local.process import CHILD_COMMAND

State = Literal["idle", "waiting", "loading", "ready", "restarting", "failed"]

BACKOFF_FIRST_SECONDS: Final = 0.5
BACKOFF_MAX_SECONDS: Final = 30.0
"""The wait before a restart doubles from the first to the last; an answered text resets it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerSettings:
    """Deadlines and manners of a model's process.

    `keep_alive_s` is how long an unused model stays loaded, 0 as long as the daemon runs. `threads` 0
    means as many as there are physical cores, up to 8. `query_timeout_s`, `text_timeout_s` and
    `load_timeout_s` are what the child may take before it counts as hung and is killed. `interruptible_s` is how
    long a text may be put off by queries that come while it is embedded; then it is embedded to its end, so that
    questions without end don't keep the index from its vectors.
    """

    keep_alive_s: float = 1800.0
    threads: int = 0
    query_timeout_s: float = 2.0
    text_timeout_s: float = 60.0
    load_timeout_s: float = 120.0
    interruptible_s: float = 2.0
    command: Sequence[str] = CHILD_COMMAND

    def timeout_s(self, kind: Kind) -> float:
        """Return how long the child may take over one text."""
        return self.query_timeout_s if kind == "query" else self.text_timeout_s

    def patience_s(self, kind: Kind) -> float:
        """Return how long a request may wait in all: two loads and tries, a text before it, the back-off."""
        return 2 * self.load_timeout_s + 2 * self.timeout_s(kind) + self.text_timeout_s + BACKOFF_MAX_SECONDS


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """What a model is doing; `waiting` means for memory that others use.

    `pid` is None and `rss_bytes` 0 while it isn't loaded.
    """

    model: str
    path: str
    state: State
    pid: int | None
    rss_bytes: int
    queued: int
    restarts: int
    problem: str | None


class Backoff:
    """When a process that keeps dying may be started again. Times are of a monotonic clock, in seconds."""

    def __init__(self) -> None:
        self.failures = 0
        self._not_before = -math.inf

    def __repr__(self) -> str:
        return f"<Backoff failures={self.failures}>"

    def failed(self, now: float) -> float:
        """Note a death; return for how long no new process is started."""
        self.failures += 1
        wait_s = min(BACKOFF_FIRST_SECONDS * 2.0 ** min(self.failures - 1, 16), BACKOFF_MAX_SECONDS)
        self._not_before = now + wait_s
        return wait_s

    def succeeded(self) -> None:
        """Note an answer: the next death is the first again."""
        self.failures = 0

    def wait_s(self, now: float) -> float:
        """Return how long the next start has to wait still, 0 where it may be now."""
        return max(0.0, self._not_before - now)
