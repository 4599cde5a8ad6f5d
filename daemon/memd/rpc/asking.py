"""How agents and the process are, asked so that one that fails or hangs costs the others nothing."""

from __future__ import annotations

import resource
import sys
from collections.abc import Mapping
from pathlib import Path

import structlog
import trio

from memd.rpc.call import AgentMemory, problem_of
from memd_client.errors import DeadlineExceededError, MemdError
from memd_client.messages import AgentStatus

log = structlog.get_logger(__name__)

AGENT_S = 5.0
"""What one agent's report may take: counting rows of a large index on a busy disk."""

DEEP_S = 20.0
"""The same with probes, which load a model where none is loaded; below the client's usual 30 s."""


async def ask_agents(agents: Mapping[str, AgentMemory], *, deep: bool = False) -> list[AgentStatus]:
    """Return a report of each agent, in their order; one that can't be had is a row with its problem alone."""
    rows: dict[str, AgentStatus] = {}

    async def ask(agent_id: str, memory: AgentMemory) -> None:
        rows[agent_id] = await _ask_one(agent_id, memory, deep)

    async with trio.open_nursery() as nursery:
        for agent_id, memory in agents.items():
            nursery.start_soon(ask, agent_id, memory)
    return [rows[agent_id] for agent_id in agents]


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
