"""`memctl top`: figures since the last refresh, for terminals, pipes and scripts."""

from __future__ import annotations

import json

import pytest

from memd.cli.metrics import AgentFigures, Figures, ModelFigures, RequestFigures, figures_between
from tests.unit.cli.memctl_runner import memctl
from tests.unit.cli.sample_metrics import figures

ONCE = """\
memd 0.1.0 · up 10.0 s · pid 4242 · 48.2 MB · CPU 25 %
  requests    12.0 per s · 3 connections · in the last 10.0 s
  pending     40 chunks to embed · 2 texts in the model's queue
  model       minilm · ready · 91.7 MB

request  per s     p50     p95  errors  count
search    12.0  1.3 ms  130 ms      20    120

agent  searches/s  searches  files  chunks  to read  to embed
main         10.0       100     54   1,300        -         -
work          0.0         0      7      90        -        40
"""

BUSY = figures(10_000, searches=100, failed=20, fast=90, slow=10, cpu_s=2.5, pending=40)


def test_pipe_gets_totals_once() -> None:
    ran = memctl("top", metrics=BUSY)

    assert (ran.code, ran.out, ran.err) == (0, ONCE, "")
    assert ran.client.closed


def test_once_exits_on_a_terminal() -> None:
    ran = memctl("top", "--once", terminal=True, colour=False, metrics=BUSY)

    assert ran.code == 0
    assert ran.out.split() == ONCE.split()


def test_json_has_every_figure() -> None:
    document = json.loads(memctl("top", "--json", metrics=BUSY).out)

    assert list(document) == list(Figures.__dataclass_fields__)
    for name, kind in (("requests", RequestFigures), ("agents", AgentFigures), ("models", ModelFigures)):
        assert list(document[name][0]) == list(kind.__dataclass_fields__)
    assert document["requests_per_s"] == 12.0
    assert document["cpu_percent"] == 25.0


def test_figures_between_two_replies_are_differences() -> None:
    earlier = figures(10_000, searches=100, fast=100, cpu_s=2.5)
    later = figures(12_000, searches=110, failed=2, fast=100, slow=12, cpu_s=3.5)

    found = figures_between(earlier, later)

    assert (found.seconds, found.requests_per_s, found.cpu_percent) == (2.0, 6.0, 50.0)
    (search,) = found.requests
    assert (search.count, search.errors, search.per_s) == (12, 2, 6.0)
    assert 100 < search.p50_ms < search.p95_ms <= 160
    assert [(agent.agent, agent.searches_per_s) for agent in found.agents] == [("main", 5.0), ("work", 0.0)]


@pytest.mark.parametrize(
    "earlier", [figures(60_000, pid=1, searches=500), figures(60_000, searches=500)], ids=["pid", "uptime"]
)
def test_restarted_daemon_starts_at_zero(earlier: object) -> None:
    later = figures(5_000, searches=10, fast=10)

    assert figures_between(earlier, later) == figures_between(None, later)  # type: ignore[arg-type]


def test_method_without_new_requests_has_no_latencies() -> None:
    still = figures(12_000, searches=100, fast=100)

    (search,) = figures_between(figures(10_000, searches=100, fast=100), still).requests

    assert (search.count, search.per_s, search.p50_ms, search.p95_ms) == (0, 0, 0, 0)
