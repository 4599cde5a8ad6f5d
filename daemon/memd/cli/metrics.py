"""`memctl metrics`: everything the daemon counts, in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import click

from memd.cli.connect import Session
from memd.cli.options import examples, json_option

if TYPE_CHECKING:
    from memd_client.messages import Metric, MetricsReply


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
def command(session: Session, as_json: bool) -> None:
    """Print what the daemon counts, for Prometheus.

    Counters begin at 0 with each start of the daemon. With --json, histograms also have their p50, p95 and p99.
    """
    with session.client() as client:
        reply = client.metrics()
    if as_json:
        from memd_client.wire import to_wire

        session.output.document(to_wire(reply))
    else:
        session.output.text(exposition(reply))


def exposition(reply: MetricsReply) -> str:
    """Return figures in Prometheus' text format, version 0.0.4."""
    return "".join(f"{each}\n" for metric in reply.metrics for each in _lines_of(metric, reply.bounds))


def _lines_of(metric: Metric, bounds: Sequence[float]) -> Iterator[str]:
    """Return a metric's head and its figures."""
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
    """Return one figure."""
    quote = '\\"'
    inside = ",".join(f'{label}="{_escaped(text).replace(chr(34), quote)}"' for label, text in labels.items())
    return f"{name}{{{inside}}} {_number(value)}" if inside else f"{name} {_number(value)}"


def _escaped(text: str) -> str:
    """Return text without what would end its line."""
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _number(value: float) -> str:
    """Return a number as short as it is exact."""
    return str(int(value)) if value == int(value) else repr(float(value))
