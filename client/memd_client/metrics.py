"""Records of metrics. Durations are seconds, sizes bytes."""

from __future__ import annotations

from msgspec import field

from memd_client.schema import Record


class MetricsParams(Record, frozen=True):
    """Return the daemon's counters, gauges and histograms since its start.

    Returns:
        `metrics`, and `bounds`: the upper bounds of the histograms' buckets. Durations in them are seconds.

    Raises:
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
    """


class Sample(Record, frozen=True):
    """One value of a metric; `labels` distinguish it from the other values.

    Attributes:
        labels: Label values by label.
        value: The value.
    """

    labels: dict[str, str]
    value: float


class Histogram(Record, frozen=True):
    """Durations in seconds. `counts` has a value per bucket of `MetricsReply.bounds`, and one for longer durations.

    Attributes:
        labels: Label values by label.
        counts: Durations in each bucket alone; the last number counts those above the last bound.
        sum: Exact sum of all durations, in seconds.
        p50: Median in seconds, estimated from the buckets, usually within a few percent.
        p95: 95th percentile, likewise.
        p99: 99th percentile, likewise.
    """

    labels: dict[str, str]
    counts: list[int]
    sum: float
    p50: float
    p95: float
    p99: float


class Metric(Record, frozen=True):
    """A metric. `kind` is `counter`, `gauge` (both have `samples`) or `histogram` (has `histograms`).

    Attributes:
        name: Name of the metric.
        kind: `counter`, `gauge` or `histogram`.
        help: Meaning.
        samples: Values of a counter or gauge.
        histograms: Values of a histogram.
    """

    name: str
    kind: str
    help: str
    samples: list[Sample] = field(default_factory=list)
    histograms: list[Histogram] = field(default_factory=list)


class MetricsReply(Record, frozen=True):
    """All metrics, and the upper bounds of the histograms' buckets in seconds.

    A changed `pid` or a smaller `uptime_ms` means that the counters restarted.

    Attributes:
        version: Release of the daemon.
        pid: Process id of the daemon.
        uptime_ms: Time since the start.
        bounds: Upper bounds of all histograms' buckets, in seconds, ascending.
        metrics: The metrics.
    """

    version: str
    pid: int
    uptime_ms: int
    bounds: list[float]
    metrics: list[Metric]
