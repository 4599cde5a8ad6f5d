"""index: bring one agent, or all, up to date now."""

from __future__ import annotations

import structlog

from memd.rpc.call import Call, ProgressSink, problem_of
from memd_client.errors import MemdError
from memd_client.messages import IndexedAgent, IndexParams, IndexReply, Problem

log = structlog.get_logger(__name__)


async def handle(call: Call, params: IndexParams) -> IndexReply:
    """Sync and return one row an agent.

    All agents are synced one after another (each has all cores then). One agent's failure is its row's
    `error`; the others go on. Where one agent was named, its failure is the reply's.

    Raises:
        AgentUnknownError: There is no such agent.
        MemdError: The named agent's failure.
    """
    if params.agent is not None:
        memory = call.memory.agent(params.agent)
        return IndexReply(agents=[await memory.index(params.force, call.progress)])
    rows = [await _index_one(call, agent_id, params.force) for agent_id in list(call.memory.agents)]
    return IndexReply(agents=rows)


async def _index_one(call: Call, agent_id: str, force: bool) -> IndexedAgent:
    """Sync one of all agents; a failure becomes its row."""
    try:
        return await call.memory.agent(agent_id).index(force, _named(call.progress, agent_id))
    except MemdError as error:
        return _failed(agent_id, problem_of(error))
    except Exception as error:
        log.exception("rpc.index_agent_crashed", agent=agent_id)
        problem = MemdError(f"the sync of agent {agent_id} crashed ({type(error).__name__})")
        return _failed(agent_id, problem_of(problem))


def _named(progress: ProgressSink, agent_id: str) -> ProgressSink:
    """Return a sink whose detail begins with the agent's id."""

    def sink(stage: str, done: int, total: int, detail: str) -> None:
        progress(stage, done, total, f"{agent_id}: {detail}" if detail else agent_id)

    return sink


def _failed(agent_id: str, problem: Problem) -> IndexedAgent:
    """Return the row of an agent whose sync failed."""
    return IndexedAgent(
        agent=agent_id,
        files=0,
        chunks=0,
        files_changed=0,
        files_removed=0,
        embedded=0,
        reused=0,
        took_ms=0.0,
        error=problem,
    )
