"""metrics: everything the daemon counts, as figures with names."""

from __future__ import annotations

import time

from memd.rpc.asking import ask_agents
from memd.rpc.call import Call
from memd.rpc.counting import counted, measured
from memd.system.metrics import BOUNDS
from memd_client.messages import MetricsParams, MetricsReply


async def handle(call: Call, params: MetricsParams) -> MetricsReply:
    """Return all counters, histograms and present values.

    An agent that fails or hangs has no figures but that it isn't up.
    """
    daemon = call.daemon
    agents = await ask_agents(call.memory.agents)
    return MetricsReply(
        version=daemon.version,
        pid=daemon.pid,
        uptime_ms=int((time.monotonic() - daemon.started) * 1000),
        bounds=list(BOUNDS),
        metrics=[*counted(daemon.meter), *measured(call.memory, daemon, agents)],
    )
