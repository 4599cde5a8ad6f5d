"""vacuum: compact an index."""

from __future__ import annotations

from memd.agents.agent import Agent
from memd.rpc.call import Call, ProgressSink
from memd.rpc.each_agent import ask_each
from memd_client.messages import Problem, VacuumedAgent, VacuumParams, VacuumReply


async def handle(call: Call, params: VacuumParams) -> VacuumReply:
    """Remove unused vectors and free disk space; searches continue meanwhile."""

    async def ask(agent: Agent, progress: ProgressSink) -> VacuumedAgent:
        progress("vacuum", 0, 0, "")
        return await agent.vacuum()

    return VacuumReply(await ask_each(call, params.agent, ask, _failed))


def _failed(agent_id: str, problem: Problem) -> VacuumedAgent:
    """Return the row of an agent whose index could not be compacted."""
    return VacuumedAgent(agent_id, 0, 0, 0, 0.0, problem)
