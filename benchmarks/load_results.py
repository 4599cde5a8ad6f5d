"""Sums over all clients of a load."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import msgspec


class LoadResult(msgspec.Struct, frozen=True):
    """One round of a load; `less` counts degraded answers."""

    seconds: float
    answers: list[int]
    took_ms: list[float]
    errors: dict[str, int]
    less: int
    unanswered: int
    clients_share: float
    daemon_cores: float
    daemon_ms: float
    work: float = 0.0

    @property
    def rate(self) -> float:
        """Answers per second."""
        return sum(self.answers) / self.seconds

    @property
    def least_served(self) -> float:
        """The least served client's answers / the median client's; 1 if all got the same."""
        middle = median(self.answers)
        return min(self.answers) / middle if middle else 0.0

    @property
    def most_served(self) -> float:
        """The same for the most served client."""
        middle = median(self.answers)
        return max(self.answers) / middle if middle else 0.0


def add_up(
    told: Sequence[Mapping[str, Any]], *, seconds: float, cores: int, daemon_s: float, work: float = 0.0
) -> LoadResult:
    """Return the result of several client processes."""
    errors: Counter[str] = Counter()
    for each in told:
        errors.update(each["errors"])
    elapsed_s = max(each["elapsed_s"] for each in told)
    return LoadResult(
        seconds=seconds,
        answers=[count for each in told for count in each["answers"]],
        took_ms=[took for each in told for took in each["took_ms"]],
        errors=dict(errors),
        less=sum(each["less"] for each in told),
        unanswered=sum(each["unanswered"] for each in told),
        clients_share=sum(each["processor_s"] for each in told) / elapsed_s / cores,
        daemon_cores=daemon_s / elapsed_s,
        daemon_ms=daemon_s * 1000 / max(1, sum(len(each["took_ms"]) for each in told)),
        work=work,
    )
