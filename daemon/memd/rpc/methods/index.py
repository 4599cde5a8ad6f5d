"""index: update the index of one agent or all now."""

from __future__ import annotations

from memd.agents.agent import Agent
from memd.rpc.call import Call, ProgressSink
from memd.rpc.each_agent import ask_each, not_indexed
from memd_client.messages import IndexedAgent, IndexParams, IndexReply


async def handle(call: Call, params: IndexParams) -> IndexReply:
    """Sync and return one row per agent."""

    async def ask(agent: Agent, progress: ProgressSink) -> IndexedAgent:
        return await agent.index(params.force, progress)

    return IndexReply(await ask_each(call, params.agent, ask, not_indexed))
