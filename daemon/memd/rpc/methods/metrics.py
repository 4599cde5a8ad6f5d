"""metrics: counters, gauges and histograms of the daemon."""

from __future__ import annotations

from memd.rpc.call import Call
from memd.rpc.each_agent import load_statuses
from memd.rpc.metrics import counted, measured
from memd.system.metrics import BOUNDS
from memd_client.messages import MetricsParams, MetricsReply


async def handle(call: Call, params: MetricsParams) -> MetricsReply:
    """Return all counters, histograms and present values.

    An agent that fails or hangs has no figures but that it isn't up.
    """
    daemon = call.daemon
    agents = await load_statuses(call.registry.agents)
    return MetricsReply(
        version=daemon.version,
        pid=daemon.pid,
        uptime_ms=daemon.uptime_ms,
        bounds=list(BOUNDS),
        metrics=[*counted(daemon.meter), *measured(call.registry, daemon, agents)],
    )
