"""reset: drop an index and rebuild it from the files."""

from __future__ import annotations

from memd.agents.agent import Agent
from memd.rpc.call import Call, ProgressSink
from memd.rpc.each_agent import ask_each, not_indexed
from memd_client.messages import IndexedAgent, ResetParams, ResetReply


async def handle(call: Call, params: ResetParams) -> ResetReply:
    """Rebuild indexes and return one row per agent, as `index` does.

    Searches that come meanwhile wait until the empty index is open, and find then what is in it again already.
    """

    async def ask(agent: Agent, progress: ProgressSink) -> IndexedAgent:
        return await agent.reset(params.delete_vectors, progress)

    reply = ResetReply(await ask_each(call, params.agent, ask, not_indexed))
    agents = {row.agent for row in reply.agents}
    await call.daemon.recalls.forget(lambda recall: not agents.isdisjoint(recall.agents))
    return reply
