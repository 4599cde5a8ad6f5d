"""status: what is going on, deep when asked."""

from __future__ import annotations

import time
from typing import Any

import trio

from memd.rpc.asking import ask_agents, rss_bytes
from memd.rpc.call import Call
from memd_client.messages import StatusParams, StatusReply


async def handle(call: Call, params: StatusParams) -> StatusReply:
    """Report on the daemon and on one agent or all; a deep report on all examines the installation as well.

    An agent that fails or hangs is reported with its problem, and costs the others nothing.
    """
    named = params.agent
    wanted = dict(call.memory.agents) if named is None else {named: call.memory.agent(named)}
    installation: dict[str, Any] | None = None

    async def examine() -> None:
        nonlocal installation
        installation = await call.daemon.examine()

    async with trio.open_nursery() as nursery:
        if params.deep and named is None:
            nursery.start_soon(examine)
        agents = await ask_agents(wanted, deep=params.deep)
    return StatusReply(
        version=call.daemon.version,
        pid=call.daemon.pid,
        uptime_ms=int((time.monotonic() - call.daemon.started) * 1000),
        socket=call.daemon.socket,
        state_dir=str(call.memory.state_dir),
        config_path=str(call.memory.config_path),
        rss_bytes=rss_bytes(),
        connections=call.daemon.connections(),
        sqlite_vec=call.memory.sqlite_vec,
        models=call.memory.models(),
        agents=agents,
        problems=call.memory.problems(),
        downloads=call.memory.downloads(),
        accounts=call.memory.accounts(),
        memory=call.memory.memory(),
        tokens_today=call.memory.tokens_today,
        token_budget=call.memory.token_budget,
        installation=installation,
    )
