"""Whether a sync did what is to be measured: a figure of a daemon that gave up early would be a good one."""

from __future__ import annotations

from memd_client.messages import IndexedAgent, IndexReply


class StateError(Exception):
    """The daemon isn't in the state that is to be measured."""


def all_indexed(reply: IndexReply) -> list[IndexedAgent]:
    """Return a sync's agents."""
    for agent in reply.agents:
        if agent.error or agent.degraded:
            raise StateError(f"{agent.agent}: {agent.error or agent.degraded}")
    return reply.agents


def only_indexed(reply: IndexReply, files: int) -> IndexedAgent:
    """Return the one agent of a sync."""
    (agent,) = all_indexed(reply)
    if agent.files != files:
        raise StateError(f"{agent.agent}: {agent.files} files indexed of {files}")
    return agent
