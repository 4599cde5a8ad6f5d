"""metrics: everything that is counted, with a name, labels and what it means."""

from __future__ import annotations

import os

import pytest
from msgspec.structs import replace

from memd.rpc.call import Call
from memd.rpc.methods import metrics
from memd.rpc.metrics import count_reply, count_request
from memd.system.metrics import FAMILIES, OTHER, Meter
from memd_client.errors import IndexIOError
from memd_client.messages import Degradation, MetricsParams, MetricsReply, PendingChanges, SearchReply
from tests.support.registry import FakeRegistry
from tests.unit.rpc.methods.calling import call_of, run

FOUND = SearchReply("main", [], "hybrid", None, False, 1.0, "local", "minilm", 1, PendingChanges())


def counting(memory: FakeRegistry | None = None, max_values: int = 100) -> Call:
    """Return a call whose meter is its own."""
    call = call_of(memory)
    call.daemon.meter = Meter(max_values)
    return call


def ask(call: Call) -> MetricsReply:
    """Return the reply to a call."""
    return run(metrics.handle(call, MetricsParams()))


def samples(reply: MetricsReply, name: str) -> dict[tuple[str, ...], float]:
    """Return the figures of a name by label values."""
    (metric,) = [each for each in reply.metrics if each.name == name]
    return {tuple(sample.labels.values()): sample.value for sample in metric.samples}


def test_the_reply_names_the_daemon_and_every_figure_once_with_what_it_means() -> None:
    reply = ask(counting())

    assert (reply.version, reply.pid) == ("9.9", os.getpid())
    names = [metric.name for metric in reply.metrics]
    assert len(names) == len(set(names))
    assert set(FAMILIES) <= set(names)
    assert all(metric.help.endswith(".") for metric in reply.metrics)
    assert {metric.kind for metric in reply.metrics} == {"counter", "gauge", "histogram"}
    assert all(metric.name.endswith("_total") for metric in reply.metrics if metric.kind == "counter")


def test_requests_are_counted_by_method_and_outcome_and_timed() -> None:
    call = counting()
    for code, seconds in (("ok", 0.003), ("ok", 0.003), ("query_empty", 0.0001)):
        count_request(call.daemon.meter, "search", code, seconds)
    count_request(call.daemon.meter, None, "method_unknown", 0.0001)
    count_request(call.daemon.meter, "search", "too_many_requests", None)

    reply = ask(call)

    assert samples(reply, "memd_requests_total") == {
        ("search", "ok"): 2,
        ("search", "query_empty"): 1,
        ("unknown", "method_unknown"): 1,
        ("search", "too_many_requests"): 1,
    }
    (timed,) = [each for each in reply.metrics if each.name == "memd_request_seconds"]
    search = timed.histograms[0]
    assert (search.labels, sum(search.counts)) == ({"method": "search"}, 3)
    assert search.sum == pytest.approx(0.0061)
    assert 0.0025 < search.p50 <= search.p95 <= search.p99 <= 0.004
    assert len(search.counts) == len(reply.bounds) + 1


def test_searches_are_counted_by_how_they_were_answered() -> None:
    call = counting()
    lacking = replace(FOUND, mode="keyword", degraded=Degradation("provider_failed", "", 0, ""), partial=True)
    for reply in (FOUND, lacking, replace(FOUND, abstained=True), "no search"):
        count_reply(call.daemon.meter, reply)

    figures = ask(call)

    assert samples(figures, "memd_searches_total") == {("main", "hybrid"): 2, ("main", "keyword"): 1}
    assert samples(figures, "memd_searches_degraded_total") == {("provider_failed",): 1}
    assert samples(figures, "memd_searches_abstained_total") == {(): 1}
    assert samples(figures, "memd_searches_partial_total") == {(): 1}


def test_what_has_a_value_now_is_measured_when_it_is_asked_for() -> None:
    reply = ask(counting())

    assert samples(reply, "memd_connections") == {(): 3}
    assert samples(reply, "memd_model_state") == {("minilm", "ready"): 1}
    assert samples(reply, "memd_tokens_today") == {(): 400}
    assert samples(reply, "memd_agent_chunks") == {("main",): 2, ("other",): 2}
    assert samples(reply, "memd_resident_bytes")[()] > 1_000_000


def test_an_agent_that_fails_is_down_and_the_others_are_measured() -> None:
    memory = FakeRegistry()
    memory.main.failure = IndexIOError("disk full")

    reply = ask(counting(memory))

    assert samples(reply, "memd_agent_up") == {("main",): 0, ("other",): 1}
    assert samples(reply, "memd_agent_files") == {("main",): 0, ("other",): 1}


def test_agents_beyond_the_labels_limit_are_added_up() -> None:
    reply = ask(counting(max_values=1))

    assert samples(reply, "memd_agent_chunks") == {("main",): 2, (OTHER,): 2}
