"""compaction_done: an agent's context was compacted, so what its flush wrote is brought in."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.messages import CompactionDoneParams, CompactionDoneReply


async def handle(call: Call, params: CompactionDoneParams) -> CompactionDoneReply:
    """Start a sync and don't wait for it.

    Raises:
        AgentUnknownError: There is no such agent.
        MemoryDisabledError: The agent's memory is turned off.
    """
    memory = call.memory.agent(params.agent)
    return CompactionDoneReply(memory.agent_id, memory.compaction_done())
