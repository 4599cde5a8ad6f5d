"""status: the state of the daemon and its agents, optionally with probes."""

from __future__ import annotations

from typing import Any

import trio

from memd.replication.status import with_remote
from memd.rpc.call import Call
from memd.rpc.each_agent import load_statuses
from memd.rpc.metrics import rss_bytes
from memd_client.messages import StatusParams, StatusReply


async def handle(call: Call, params: StatusParams) -> StatusReply:
    """Return the state of the daemon and of one agent or all; a deep one of all examines the installation too.

    An agent that fails or hangs is reported with its problem, and costs the others nothing.
    """
    named = params.agent
    wanted = dict(call.registry.agents) if named is None else {named: call.registry.agent(named)}
    installation: dict[str, Any] | None = None

    async def examine() -> None:
        nonlocal installation
        installation = await call.daemon.examine()

    async with trio.open_nursery() as nursery:
        if params.deep and named is None:
            nursery.start_soon(examine)
        agents = await load_statuses(wanted, deep=params.deep)
    registry, daemon = call.registry, call.daemon
    remotes = daemon.replicas.status(None) if daemon.replicas is not None else []
    agents = [with_remote(agent, remotes) for agent in agents]
    return StatusReply(
        version=daemon.version,
        pid=daemon.pid,
        uptime_ms=daemon.uptime_ms,
        socket=daemon.socket,
        state_dir=str(registry.state_dir),
        config_path=str(registry.config_path),
        rss_bytes=rss_bytes(),
        connections=daemon.open_connections,
        sqlite_vec=registry.sqlite_vec,
        models=registry.models.status(),
        agents=agents,
        problems=registry.problems(),
        downloads=registry.downloads.status(),
        accounts=registry.accounts.status(),
        memory=registry.memory_status(),
        tokens_today=registry.accounts.tokens_today,
        token_budget=registry.accounts.daily_budget,
        installation=installation,
    )
