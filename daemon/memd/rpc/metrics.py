"""The metrics of the daemon: counts of its requests, and gauges of itself, its models, accounts and agents."""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Iterable, Mapping, Sequence

from memd.agents.registry import AgentRegistry
from memd.embedding.local.fit import load_rss_bytes
from memd.rpc.call import DaemonContext
from memd.system.metrics import BOUNDS, FAMILIES, OTHER, Family, Meter, quantile
from memd_client.messages import (
    AgentStatus,
    CallToolReply,
    Histogram,
    MemoryStatus,
    Metric,
    Sample,
    SearchReply,
)

NO_METHOD = "unknown"
"""The label of unknown requests, whose names come from the client."""

Labels = Mapping[str, str]


def count_request(meter: Meter, method: str | None, code: str, seconds: float | None) -> None:
    """Count a request with its outcome."""
    name = method or NO_METHOD
    meter.count("memd_requests_total", name, code)
    if seconds is not None:
        meter.observe(seconds, "memd_request_seconds", name)


def count_reply(meter: Meter, reply: object) -> None:
    """Count a reply of a search by its mode and its limitations."""
    if isinstance(reply, CallToolReply) and reply.ok and "mode" in reply.result:
        meter.count("memd_searches_total", reply.agent, reply.result["mode"])
    if not isinstance(reply, SearchReply):
        return
    meter.count("memd_searches_total", reply.agent, reply.mode)
    if reply.degraded is not None:
        meter.count("memd_searches_degraded_total", reply.degraded.code)
    if reply.abstained:
        meter.count("memd_searches_abstained_total")
    if reply.partial:
        meter.count("memd_searches_partial_total")


def counted(meter: Meter) -> list[Metric]:
    """Return all metrics of a meter; a counter without labels starts at 0."""
    return [_metric(meter, name, family) for name, family in FAMILIES.items()]


def _metric(meter: Meter, name: str, family: Family) -> Metric:
    """Return one metric with its values."""
    if family.kind == "histogram":
        histograms = [
            Histogram(
                _labels(family, values),
                list(each.counts),
                each.total,
                *(round(quantile(BOUNDS, each.counts, share), 9) for share in (0.5, 0.95, 0.99)),
            )
            for values, each in meter.histograms(name)
        ]
        return Metric(name, family.kind, family.help, histograms=histograms)
    samples = [Sample(_labels(family, values), value) for values, value in meter.counters(name)]
    if not samples and not family.labels:
        samples = [Sample({}, 0)]
    return Metric(name, family.kind, family.help, samples)


def _labels(family: Family, values: Sequence[str]) -> dict[str, str]:
    """Return label values by label name."""
    return dict(zip(family.labels, values, strict=True))


def measured(registry: AgentRegistry, daemon: DaemonContext, agents: Sequence[AgentStatus]) -> list[Metric]:
    """Return the gauges of the process, its models, accounts and agents."""
    return [*_of_process(registry, daemon), *_of_models(registry), *_of_agents(daemon.meter, agents)]


def _of_process(registry: AgentRegistry, daemon: DaemonContext) -> list[Metric]:
    """Return the gauges of the whole daemon."""
    paused = [each.provider for each in registry.accounts.status() if each.state != "ok"]
    return [
        _gauge("memd_info", "The daemon's release.", [({"version": daemon.version}, 1)]),
        _gauge("memd_uptime_seconds", "Time since the start.", [({}, time.monotonic() - daemon.started)]),
        _gauge("memd_resident_bytes", "RAM of the daemon, without its models.", [({}, rss_bytes())]),
        _counter(
            "memd_cpu_seconds_total",
            "CPU time spent since the start, without models.",
            [({}, time.process_time() - daemon.cpu_before)],
        ),
        _gauge("memd_connections", "Connections open now.", [({}, daemon.open_connections)]),
        _gauge("memd_requests_in_flight", "Requests running or waiting.", [({}, daemon.admission.total)]),
        _gauge("memd_requests_waiting", "Requests that wait for a slot.", [({}, daemon.admission.waiting)]),
        *_of_memory(registry.memory_status()),
        _gauge(
            "memd_tokens_today", "Tokens bought since midnight UTC.", [({}, registry.accounts.tokens_today)]
        ),
        _gauge(
            "memd_accounts_paused",
            "Accounts at providers that are paused.",
            [({"provider": name}, paused.count(name)) for name in dict.fromkeys(paused)],
        ),
        _gauge("memd_downloads", "Models being downloaded.", [({}, len(registry.downloads.status()))]),
    ]


def _of_memory(used: MemoryStatus) -> list[Metric]:
    """Return the RAM in use and the budgets, by share."""
    shares = {
        "vectors": (used.vectors_bytes, used.vectors_budget),
        "models": (used.models_bytes, used.models_budget),
        "pages": (used.pages_bytes, used.pages_budget),
    }
    now = [({"share": share}, size) for share, (size, _) in shares.items()]
    most = [({"share": share}, size) for share, (_, size) in shares.items()]
    return [
        _gauge("memd_memory_bytes", "RAM in use, by share.", now),
        _gauge("memd_memory_budget_bytes", "RAM budget, by share.", most),
    ]


def _of_models(registry: AgentRegistry) -> list[Metric]:
    """Return the gauges of the local models."""
    models = registry.models.status()
    return [
        _gauge(
            "memd_model_state",
            "1 for the state a local model is in.",
            [({"model": row.model, "state": row.state}, 1) for row in models],
        ),
        _gauge(
            "memd_model_queue",
            "Texts that wait for a model.",
            [({"model": m.model}, m.queued) for m in models],
        ),
        _gauge(
            "memd_model_resident_bytes",
            "RAM of a model's process.",
            [({"model": m.model}, m.rss_bytes) for m in models],
        ),
        _gauge(
            "memd_model_restarts",
            "Restarts of a model's process after failures.",
            [({"model": m.model}, m.restarts) for m in models],
        ),
    ]


AGENT_GAUGES = {
    "memd_agent_files": ("Files in the index.", "files"),
    "memd_agent_chunks": ("Chunks in the index.", "chunks"),
    "memd_agent_vectors": ("Vectors of the active vector space.", "vectors"),
    "memd_agent_files_pending": ("Changed files that wait to be read.", "files_pending"),
    "memd_agent_chunks_pending": ("Chunks that wait for their vector.", "chunks_pending"),
    "memd_agent_index_bytes": ("Size of the index.", "index_bytes"),
    "memd_agent_syncing": ("Whether files are being read now.", "syncing"),
}
"""Gauges of each agent: the name, its help text, and its field of the status."""


def _of_agents(meter: Meter, agents: Sequence[AgentStatus]) -> list[Metric]:
    """Return the gauges of each agent; agents beyond the label limit are summed."""
    named = [(meter.label("agent", row.agent), row) for row in agents]
    metrics = [
        _gauge(
            "memd_agent_up",
            "Whether an agent's memory is open.",
            _added((n, bool(r.index_bytes)) for n, r in named),
        )
    ]
    for name, (help_text, field) in AGENT_GAUGES.items():
        metrics.append(_gauge(name, help_text, _added((n, getattr(r, field)) for n, r in named)))
    synced = [
        ({"agent": name}, row.last_sync_ms / 1000)
        for name, row in named
        if name != OTHER and row.last_sync_ms is not None
    ]
    metrics.append(
        _gauge("memd_agent_last_sync_timestamp_seconds", "When an agent's last sync began.", synced)
    )
    return metrics


def _added(values: Iterable[tuple[str, float]]) -> list[tuple[Labels, float]]:
    """Return values by agent label; values of the same label are summed."""
    sums: dict[str, float] = {}
    for name, value in values:
        sums[name] = sums.get(name, 0) + value
    return [({"agent": name}, value) for name, value in sums.items()]


def _gauge(name: str, help_text: str, values: Iterable[tuple[Labels, float]]) -> Metric:
    """Return a gauge."""
    return Metric(name, "gauge", help_text, [Sample(dict(labels), value) for labels, value in values])


def _counter(name: str, help_text: str, values: Iterable[tuple[Labels, float]]) -> Metric:
    """Return a counter."""
    return Metric(name, "counter", help_text, [Sample(dict(labels), value) for labels, value in values])


def rss_bytes() -> int:
    """Return the RAM of this process in bytes; without /proc, its peak."""
    if used := load_rss_bytes(os.getpid()):
        return used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
