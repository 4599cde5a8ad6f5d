"""Records of metrics. Durations are seconds, sizes bytes."""

from __future__ import annotations

from memd_client.record import field, record


@record
class MetricsParams:
    """No parameters."""


@record
class Sample:
    """One value of a metric; `labels` distinguish it from the other values.

    Attributes:
        labels: Label values by label.
        value: The value.
    """

    labels: dict[str, str]
    value: float


@record
class Histogram:
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


@record
class Metric:
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


@record
class MetricsReply:
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
