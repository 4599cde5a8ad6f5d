"""Checks that a sync did what is measured, so that a failed one is no figure."""

from __future__ import annotations

from memd_client.messages import IndexedAgent, IndexReply


class StateError(Exception):
    """The daemon is not in the state to be measured."""


def check_all_indexed(reply: IndexReply) -> list[IndexedAgent]:
    """Return a sync's agents; raise if one has an error."""
    for agent in reply.agents:
        if agent.error or agent.degraded:
            raise StateError(f"{agent.agent}: {agent.error or agent.degraded}")
    return reply.agents


def check_one_indexed(reply: IndexReply, files: int) -> IndexedAgent:
    """Return the only agent of a sync; raise unless it indexed so many files."""
    (agent,) = check_all_indexed(reply)
    if agent.files != files:
        raise StateError(f"{agent.agent}: {agent.files} files indexed of {files}")
    return agent
