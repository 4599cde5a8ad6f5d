"""`memctl metrics`: the daemon's metrics in Prometheus' text format, and their changes over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

import click

from memd.cli.arguments import examples, json_option
from memd.cli.connect import CliSession
from memd.system.metrics import quantile

if TYPE_CHECKING:
    from memd_client.messages import Metric, MetricsReply


@dataclass(frozen=True)
class RequestFigures:
    """Requests of one method: rate, errors and latencies."""

    method: str
    per_s: float
    count: int
    errors: int
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True)
class AgentFigures:
    """Searches of one agent, and the size of its index."""

    agent: str
    searches_per_s: float
    searches: int
    files: int
    chunks: int
    files_pending: int
    chunks_pending: int


@dataclass(frozen=True)
class ModelFigures:
    """One local model."""

    model: str
    state: str
    queued: int
    rss_bytes: int


@dataclass(frozen=True)
class Figures:
    """The daemon's figures between two replies, or since its start."""

    version: str
    pid: int
    uptime_ms: int
    seconds: float
    requests_per_s: float
    connections: int
    rss_bytes: int
    cpu_percent: float
    texts_queued: int
    requests: list[RequestFigures] = field(default_factory=list)
    agents: list[AgentFigures] = field(default_factory=list)
    models: list[ModelFigures] = field(default_factory=list)


def figures_between(earlier: MetricsReply | None, later: MetricsReply) -> Figures:
    """Return the figures between two replies, or since the start without an earlier one."""
    first = _Metrics(earlier if earlier is not None and _is_same_process(earlier, later) else None)
    second = _Metrics(later)
    seconds = max(0.001, (later.uptime_ms - first.uptime_ms) / 1000)
    requests = list(_requests(first, second, seconds))
    models = [
        ModelFigures(
            model,
            state,
            int(second.value("memd_model_queue", model=model)),
            int(second.value("memd_model_resident_bytes", model=model)),
        )
        for model, state in second.pairs("memd_model_state", "model", "state")
    ]
    cpu_s = second.value("memd_cpu_seconds_total") - first.value("memd_cpu_seconds_total")
    return Figures(
        version=later.version,
        pid=later.pid,
        uptime_ms=later.uptime_ms,
        seconds=round(seconds, 3),
        requests_per_s=round(sum(row.count for row in requests) / seconds, 3),
        connections=int(second.value("memd_connections")),
        rss_bytes=int(second.value("memd_resident_bytes")),
        cpu_percent=round(100 * cpu_s / seconds, 1),
        texts_queued=sum(row.queued for row in models),
        requests=requests,
        agents=list(_agents(first, second, seconds)),
        models=models,
    )


def _is_same_process(earlier: MetricsReply, later: MetricsReply) -> bool:
    """Return whether two replies are of the same process."""
    return earlier.pid == later.pid and earlier.uptime_ms <= later.uptime_ms


class _Metrics:
    """The metrics of one reply by name and labels; without a reply, those of a daemon that just started."""

    def __init__(self, reply: MetricsReply | None) -> None:
        self.uptime_ms = reply.uptime_ms if reply is not None else 0
        self.bounds = reply.bounds if reply is not None else []
        metrics = reply.metrics if reply is not None else []
        self._samples = {each.name: [(s.labels, s.value) for s in each.samples] for each in metrics}
        self._counts = {
            (each.name, *h.labels.values()): h.counts for each in metrics for h in each.histograms
        }

    def value(self, name: str, **labels: str) -> float:
        """Return the sum of a metric's values with these labels."""
        return sum(value for found, value in self._samples.get(name, ()) if labels.items() <= found.items())

    def pairs(self, name: str, first: str, second: str) -> list[tuple[str, str]]:
        """Return the values of two labels of a metric."""
        return [(labels[first], labels[second]) for labels, _ in self._samples.get(name, ())]

    def values_of(self, name: str, label: str) -> list[str]:
        """Return the distinct values of a label."""
        return list(dict.fromkeys(labels[label] for labels, _ in self._samples.get(name, ())))

    def counts(self, *key: str) -> list[int]:
        """Return a histogram's buckets."""
        return self._counts.get(key, [])


def _requests(first: _Metrics, second: _Metrics, seconds: float) -> Iterator[RequestFigures]:
    """Return the figures of each method, busiest first."""
    rows = []
    name = "memd_requests_total"
    for method in second.values_of(name, "method"):
        count = second.value(name, method=method) - first.value(name, method=method)
        fine = second.value(name, method=method, code="ok") - first.value(name, method=method, code="ok")
        before = first.counts("memd_request_seconds", method)
        counts = list(second.counts("memd_request_seconds", method))
        for place, earlier in enumerate(before):
            counts[place] -= earlier
        p50, p95 = (1000 * quantile(second.bounds, counts, share) for share in (0.5, 0.95))
        rows.append(
            RequestFigures(
                method, round(count / seconds, 3), int(count), int(count - fine), round(p50, 3), round(p95, 3)
            )
        )
    return iter(sorted(rows, key=lambda row: (-row.count, row.method)))


def _agents(first: _Metrics, second: _Metrics, seconds: float) -> Iterator[AgentFigures]:
    """Return the figures of each agent, busiest first."""
    rows = []
    for agent in second.values_of("memd_agent_up", "agent"):
        searches = second.value("memd_searches_total", agent=agent)
        new = searches - first.value("memd_searches_total", agent=agent)
        files, chunks, files_pending, chunks_pending = (
            int(second.value(f"memd_agent_{what}", agent=agent))
            for what in ("files", "chunks", "files_pending", "chunks_pending")
        )
        rows.append(
            AgentFigures(
                agent, round(new / seconds, 3), int(searches), files, chunks, files_pending, chunks_pending
            )
        )
    return iter(sorted(rows, key=lambda row: (-row.searches_per_s, row.agent)))


@click.command(
    "metrics",
    epilog=examples(
        "memctl metrics",
        "memctl metrics > /var/lib/node_exporter/memd.prom",
        "memctl metrics --json | jq '.metrics[] | select(.name == \"memd_request_seconds\")'",
    ),
)
@json_option
@click.pass_obj
def command(session: CliSession, as_json: bool) -> None:
    """Print the daemon's metrics for Prometheus.

    Counters restart at 0 with the daemon. With --json, histograms include p50, p95 and p99.
    """
    with session.client() as client:
        reply = client.metrics()
    if as_json:
        session.output.reply(reply)
    else:
        session.output.text(exposition(reply))


def exposition(reply: MetricsReply) -> str:
    """Return metrics in Prometheus' text format, version 0.0.4."""
    return "".join(f"{each}\n" for metric in reply.metrics for each in _lines_of(metric, reply.bounds))


def _lines_of(metric: Metric, bounds: Sequence[float]) -> Iterator[str]:
    """Yield the lines of a metric."""
    yield f"# HELP {metric.name} {_escaped(metric.help)}"
    yield f"# TYPE {metric.name} {metric.kind}"
    for sample in metric.samples:
        yield _line(metric.name, sample.labels, sample.value)
    for each in metric.histograms:
        edges = [*(_number(bound) for bound in bounds), "+Inf"]
        sums = list(accumulate(each.counts))
        for edge, up_to in zip(edges, sums, strict=True):
            yield _line(f"{metric.name}_bucket", {**each.labels, "le": edge}, up_to)
        yield _line(f"{metric.name}_sum", each.labels, each.sum)
        yield _line(f"{metric.name}_count", each.labels, sums[-1])


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    """Return the line of one value."""
    quote = '\\"'
    inside = ",".join(f'{label}="{_escaped(text).replace(chr(34), quote)}"' for label, text in labels.items())
    return f"{name}{{{inside}}} {_number(value)}" if inside else f"{name} {_number(value)}"


def _escaped(text: str) -> str:
    """Return text with backslashes and newlines escaped."""
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _number(value: float) -> str:
    """Return the shortest exact text of a number."""
    return str(int(value)) if value == int(value) else repr(float(value))
