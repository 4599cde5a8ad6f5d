"""reset: drop an index and build it anew from the files."""

from __future__ import annotations

import trio

from memd.rpc.call import AgentMemory, Call
from memd.rpc.upkeep import open_memory, progress_of, row_of_each
from memd_client.errors import AgentReloadingError
from memd_client.messages import IndexedAgent, Problem, ResetParams, ResetReply

REOPEN_S = 600.0
"""How long an agent may take to be open again: a large index's vectors are taken over first."""

PAUSE_S = 0.1


async def handle(call: Call, params: ResetParams) -> ResetReply:
    """Build indexes anew, and return one row an agent, as `index` does.

    Searches that come meanwhile wait until the empty index is open, and find then what is in it again already.

    Raises:
        AgentUnknownError: There is no such agent.
        MemdError: The named agent's failure.
    """

    async def ask(agent: AgentMemory) -> IndexedAgent:
        memory = await open_memory(agent)
        memory.reset(vectors=params.vectors)
        progress = progress_of(call, agent.agent_id, params.agent)
        until = trio.current_time() + REOPEN_S
        while True:
            try:
                return await agent.index(False, progress)
            except AgentReloadingError:
                if trio.current_time() > until:
                    raise
                progress("reopening", 0, 0, "")
                await trio.sleep(PAUSE_S)

    return ResetReply(await row_of_each(call, params.agent, ask, _failed))


def _failed(agent_id: str, problem: Problem) -> IndexedAgent:
    """Return the row of an agent whose index could not be built anew."""
    return IndexedAgent(agent_id, 0, 0, 0, 0, 0, 0, 0.0, error=problem)
