"""Metrics of this process: counters, histograms of durations, and quantiles estimated from them.

Everything is counted on the event loop's thread. A restart resets it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

DECADES = range(-5, 3)
STEPS = (1.0, 1.6, 2.5, 4.0, 6.3)

BOUNDS: tuple[float, ...] = tuple(float(f"{step}e{decade}") for decade in DECADES for step in STEPS)
"""Upper bounds in seconds, from 10 µs to 10 min: five per decade, so that a quantile is usually off by a few percent
and by 60 % at most. Longer durations are counted in one more bucket."""


def quantile(bounds: Sequence[float], counts: Sequence[int], share: float) -> float:
    """Return an estimated quantile: the value that a share of all observations doesn't exceed; 0 if there are none.

    Values are assumed to be spread evenly within a bucket. The estimate never exceeds the last bound.
    """
    wanted = share * sum(counts)
    if wanted <= 0:
        return 0.0
    below, lower = 0, 0.0
    for bound, count in zip(bounds, counts, strict=False):
        if count and below + count >= wanted:
            return lower + (bound - lower) * (wanted - below) / count
        below, lower = below + count, bound
    return lower


MAX_VALUES = 100
"""Distinct values of a label; further ones are counted together, so that neither clients nor settings files can make
the metrics grow without bound."""

OTHER = "other"
"""The label value under which all values beyond `MAX_VALUES` are counted."""


class Family(Struct, frozen=True):
    """One metric: its kind, its help text, and its labels."""

    kind: Literal["counter", "histogram"]
    help: str
    labels: tuple[str, ...] = ()


FAMILIES: dict[str, Family] = {
    "memd_requests_total": Family("counter", "Requests answered, by outcome.", ("method", "code")),
    "memd_request_seconds": Family(
        "histogram", "Time from reading a request to its response being ready.", ("method",)
    ),
    "memd_searches_total": Family("counter", "Searches answered, by mode.", ("agent", "mode")),
    "memd_searches_degraded_total": Family("counter", "Searches answered in a degraded mode.", ("code",)),
    "memd_searches_abstained_total": Family("counter", "Searches without relevant results."),
    "memd_searches_partial_total": Family(
        "counter", "Searches answered before all changed files were indexed."
    ),
    "memd_hooks_total": Family(
        "counter",
        "Events of hooks, by decision: `injected` adds lines, `related` names a location.",
        ("event", "decision"),
    ),
    "memd_recalls_total": Family(
        "counter",
        "Searches, and texts added to prompts and sessions, by way and best hit.",
        ("way", "outcome"),
    ),
    "memd_recalls_dropped_total": Family("counter", "Recalls that could not be logged."),
    "memd_catch_up_seconds": Family("histogram", "Time searches waited for changed files."),
    "memd_files_checked_total": Family(
        "counter",
        "Files checked by syncs: changed, unchanged, deleted, or being written.",
        ("agent", "outcome"),
    ),
    "memd_file_seconds": Family("histogram", "Time to read, chunk and store one file."),
    "memd_chunks_written_total": Family("counter", "Chunks written to indexes.", ("agent",)),
    "memd_texts_embedded_total": Family("counter", "Texts embedded and stored.", ("agent",)),
    "memd_connections_total": Family("counter", "Connections accepted."),
    "memd_connections_refused_total": Family(
        "counter", "Connections refused, or closed because of a client error.", ("code",)
    ),
}
"""All counters and histograms. Gauges are read when the metrics are requested."""


class DurationHistogram:
    """Durations by bucket.

    Attributes:
        counts: Observations in each bucket, not cumulative; the last bucket is beyond all bounds.
        total: Sum of all observations, in seconds.
    """

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.total = 0.0

    def __repr__(self) -> str:
        return f"<DurationHistogram of {sum(self.counts)}>"


class Meter:
    """Counters and histograms by name and label values. For one thread."""

    def __init__(self, max_values: int = MAX_VALUES) -> None:
        self._max_values = max_values
        self._counters: dict[tuple[str, ...], float] = {}
        self._histograms: dict[tuple[str, ...], DurationHistogram] = {}
        self._values: dict[str, set[str]] = {}

    def __repr__(self) -> str:
        return f"<Meter {len(self._counters)} counters, {len(self._histograms)} histograms>"

    def count(self, *key: str, by: float = 1) -> None:
        """Add to a counter."""
        try:
            self._counters[key] += by
        except KeyError:
            key = self._admit(key)
            self._counters[key] = self._counters.get(key, 0) + by

    def observe(self, seconds: float, *key: str) -> None:
        """Add a duration to a histogram."""
        histogram = self._histograms.get(key)
        if histogram is None:
            histogram = self._histograms.setdefault(self._admit(key), DurationHistogram())
        histogram.counts[bisect_left(BOUNDS, seconds)] += 1
        histogram.total += seconds

    def value(self, *key: str) -> float:
        """Return a counter; 0 if nothing was counted."""
        return self._counters.get(key, 0)

    def counters(self, name: str) -> Iterator[tuple[tuple[str, ...], float]]:
        """Return the label values and counts of a name, in the order of their first count."""
        return ((key[1:], value) for key, value in self._counters.items() if key[0] == name)

    def histograms(self, name: str) -> Iterator[tuple[tuple[str, ...], DurationHistogram]]:
        """Return the label values and histograms of a name, in the order of their first observation."""
        return ((key[1:], each) for key, each in self._histograms.items() if key[0] == name)

    def label(self, label: str, value: str) -> str:
        """Return the value a label is counted under: itself, or `OTHER` beyond `MAX_VALUES` values."""
        known = self._values.setdefault(label, set())
        if value in known:
            return value
        if len(known) >= self._max_values:
            return OTHER
        known.add(value)
        return value

    def _admit(self, key: tuple[str, ...]) -> tuple[str, ...]:
        """Return the key under which a new combination of label values is counted."""
        name, *values = key
        labels = FAMILIES[name].labels
        return (name, *(self.label(label, value) for label, value in zip(labels, values, strict=True)))


METER = Meter()
"""The meter of this process: a global, so that it need not be passed from package to package."""
