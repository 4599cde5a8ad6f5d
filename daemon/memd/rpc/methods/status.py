"""status: what is going on, deep when asked."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

import structlog
import trio

from memd.rpc.call import AgentMemory, Call, problem_of
from memd_client.errors import DeadlineExceededError, MemdError
from memd_client.messages import AgentStatus, StatusParams, StatusReply

log = structlog.get_logger(__name__)

AGENT_S = 5.0
"""What one agent's report may take: counting rows of a large index on a busy disk."""

DEEP_S = 20.0
"""The same with probes, which load a model where none is loaded; below the client's usual 30 s."""


async def handle(call: Call, params: StatusParams) -> StatusReply:
    """Report on the daemon and on one agent or all.

    An agent that fails or hangs is reported with its problem, and costs the others nothing.

    Raises:
        AgentUnknownError: The named agent doesn't exist.
    """
    named = params.agent
    wanted = dict(call.memory.agents) if named is None else {named: call.memory.agent(named)}
    rows: dict[str, AgentStatus] = {}

    async def ask(agent_id: str, memory: AgentMemory) -> None:
        rows[agent_id] = await _ask_one(agent_id, memory, params.deep)

    async with trio.open_nursery() as nursery:
        for agent_id, memory in wanted.items():
            nursery.start_soon(ask, agent_id, memory)
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
        agents=[rows[agent_id] for agent_id in wanted],
        problems=call.memory.problems(),
        downloads=call.memory.downloads(),
        accounts=call.memory.accounts(),
        tokens_today=call.memory.tokens_today,
        token_budget=call.memory.token_budget,
    )


async def _ask_one(agent_id: str, memory: AgentMemory, deep: bool) -> AgentStatus:
    """Return one agent's report, or a row that holds nothing but the problem."""
    limit_s = DEEP_S if deep else AGENT_S
    try:
        with trio.fail_after(limit_s):
            return await memory.status(deep)
    except trio.TooSlowError:
        late = DeadlineExceededError(f"agent {agent_id} did not report in {limit_s:g} s")
        return AgentStatus(agent_id, problems=[problem_of(late)])
    except MemdError as error:
        return AgentStatus(agent_id, problems=[problem_of(error)])
    except Exception as error:
        log.exception("rpc.status_agent_crashed", agent=agent_id)
        crash = MemdError(f"the report of agent {agent_id} crashed ({type(error).__name__})")
        return AgentStatus(agent_id, problems=[problem_of(crash)])


def rss_bytes() -> int:
    """Return the memory this process holds, in bytes; where /proc is missing, the most it ever held."""
    try:
        pages = Path("/proc/self/statm").read_text("ascii").split()[1]
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return int(pages) * resource.getpagesize()
