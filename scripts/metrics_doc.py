"""Writes docs/metrics.md from the metrics that the daemon reports; `scripts/docs` calls it."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from memd.rpc.metrics import counted, measured
from memd.system.metrics import FAMILIES, METER, Meter
from memd_client.messages import AgentStatus, MemoryStatus, Metric

PAGE = Path(__file__).resolve().parents[1] / "docs" / "metrics.md"

HEAD = Path(__file__).resolve().parent / "texts" / "metrics.md"


def metrics() -> list[Metric]:
    """Return every metric, with a sample of each gauge."""
    return [*counted(Meter()), *measured(*_daemon_with_one_of_each())]


def _daemon_with_one_of_each() -> tuple[Any, Any, list[AgentStatus]]:
    """Return stand-ins of registry and daemon with one model, account and agent each."""
    model = SimpleNamespace(model="minilm", state="ready", queued=0, rss_bytes=0, restarts=0)
    account = SimpleNamespace(provider="openai", state="paused")
    registry = SimpleNamespace(
        accounts=SimpleNamespace(status=lambda: [account], tokens_today=0),
        models=SimpleNamespace(status=lambda: [model]),
        downloads=SimpleNamespace(status=list),
        memory_status=MemoryStatus,
    )
    daemon = SimpleNamespace(
        version="",
        started=time.monotonic(),
        cpu_before=0,
        open_connections=0,
        admission=SimpleNamespace(total=0, waiting=0),
        meter=METER,
    )
    return registry, daemon, [AgentStatus("main", last_sync_ms=0)]


def render() -> str:
    """Return the whole page."""
    return HEAD.read_text("utf-8") + "".join(
        _row(each) for each in sorted(metrics(), key=lambda each: each.name)
    )


def _row(metric: Metric) -> str:
    family = FAMILIES.get(metric.name)
    labels = (
        family.labels if family else tuple(dict.fromkeys(name for s in metric.samples for name in s.labels))
    )
    names = ", ".join(f"`{each}`" for each in labels)
    return f"| `{metric.name}` | {metric.kind} | {names} | {metric.help} |\n"
