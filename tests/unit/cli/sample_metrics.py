"""Metrics of a fictional daemon."""

from __future__ import annotations

from memd.system.metrics import BOUNDS
from memd_client.messages import Histogram, Metric, MetricsReply, Sample


def figures(
    uptime_ms: int,
    *,
    pid: int = 4242,
    searches: int = 0,
    failed: int = 0,
    fast: int = 0,
    slow: int = 0,
    cpu_s: float = 0.0,
    pending: int = 0,
) -> MetricsReply:
    """Return the metrics of a daemon with the agents `main` and `work`."""
    counts = [0] * (len(BOUNDS) + 1)
    counts[BOUNDS.index(0.0016)], counts[BOUNDS.index(0.16)] = fast, slow
    took = Histogram({"method": "search"}, counts, 0.001 * fast + 0.1 * slow, 0.0, 0.0, 0.0)
    requests = [
        Sample({"method": "search", "code": "ok"}, searches),
        Sample({"method": "search", "code": "query_empty"}, failed),
    ]

    def gauge(name: str, *values: tuple[dict[str, str], float]) -> Metric:
        return Metric(name, "gauge", "Something.", [Sample(labels, value) for labels, value in values])

    main, work, model = {"agent": "main"}, {"agent": "work"}, {"model": "minilm"}
    return MetricsReply(
        "0.1.0",
        pid,
        uptime_ms,
        list(BOUNDS),
        [
            Metric("memd_requests_total", "counter", "Requests.", requests),
            Metric("memd_request_seconds", "histogram", "Time.", histograms=[took]),
            Metric(
                "memd_searches_total", "counter", "Searches.", [Sample(main | {"mode": "hybrid"}, searches)]
            ),
            gauge("memd_cpu_seconds_total", ({}, cpu_s)),
            gauge("memd_connections", ({}, 3)),
            gauge("memd_resident_bytes", ({}, 48_200_000)),
            gauge("memd_model_state", (model | {"state": "ready"}, 1)),
            gauge("memd_model_queue", (model, 2)),
            gauge("memd_model_resident_bytes", (model, 91_700_000)),
            gauge("memd_agent_up", (work, 1), (main, 1)),
            gauge("memd_agent_files", (main, 54), (work, 7)),
            gauge("memd_agent_chunks", (main, 1300), (work, 90)),
            gauge("memd_agent_files_pending", (main, 0), (work, 0)),
            gauge("memd_agent_chunks_pending", (main, 0), (work, pending)),
        ],
    )
