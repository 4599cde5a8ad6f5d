"""`memctl metrics`: Prometheus text and JSON."""

from __future__ import annotations

import json

from memd.cli.metrics import exposition
from memd_client.messages import Histogram, Metric, MetricsReply, Sample
from tests.unit.cli.memctl_runner import memctl

REPLY = MetricsReply(
    "0.1.0",
    4242,
    1000,
    [0.001, 0.5],
    [
        Metric("memd_requests_total", "counter", "Requests.", [Sample({"method": "get", "code": "ok"}, 12)]),
        Metric("memd_uptime_seconds", "gauge", "Time.", [Sample({}, 1.25)]),
        Metric(
            "memd_request_seconds",
            "histogram",
            "Time.",
            histograms=[Histogram({"method": "get"}, [3, 2, 1], 0.75, 0.001, 0.5, 0.5)],
        ),
        Metric("memd_agent_files", "gauge", "Files."),
    ],
)

TEXT = """\
# HELP memd_requests_total Requests.
# TYPE memd_requests_total counter
memd_requests_total{method="get",code="ok"} 12
# HELP memd_uptime_seconds Time.
# TYPE memd_uptime_seconds gauge
memd_uptime_seconds 1.25
# HELP memd_request_seconds Time.
# TYPE memd_request_seconds histogram
memd_request_seconds_bucket{method="get",le="0.001"} 3
memd_request_seconds_bucket{method="get",le="0.5"} 5
memd_request_seconds_bucket{method="get",le="+Inf"} 6
memd_request_seconds_sum{method="get"} 0.75
memd_request_seconds_count{method="get"} 6
# HELP memd_agent_files Files.
# TYPE memd_agent_files gauge
"""


def test_metrics_are_printed_in_prometheus_format() -> None:
    ran = memctl("metrics", metrics=REPLY)

    assert (ran.code, ran.out, ran.err) == (0, TEXT, "")
    assert ran.client.closed


def test_newlines_and_quotes_are_escaped() -> None:
    odd = Metric("m", "gauge", 'back\\slash "and"\nline', [Sample({"model": 'a\\b"c\nd'}, 1)])

    text = exposition(MetricsReply("", 1, 1, [], [odd]))

    assert text.splitlines() == [
        '# HELP m back\\\\slash "and"\\nline',
        "# TYPE m gauge",
        'm{model="a\\\\b\\"c\\nd"} 1',
    ]


def test_json_includes_the_quantiles() -> None:
    document = json.loads(memctl("metrics", "--json", metrics=REPLY).out)

    assert list(document) == ["version", "pid", "uptime_ms", "bounds", "metrics"]
    (row,) = document["metrics"][2]["histograms"]
    assert row == {
        "labels": {"method": "get"},
        "counts": [3, 2, 1],
        "sum": 0.75,
        "p50": 0.001,
        "p95": 0.5,
        "p99": 0.5,
    }
