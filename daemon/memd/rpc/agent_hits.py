"""Hits of several agents in one list, each with its agent."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from memd.agents.agent import Agent
from memd.search.rank.agents import HitScores, merge_agents
from memd_client.messages import Hit, SearchReply


def merged_hits(searched: Sequence[tuple[Agent, SearchReply]], most: int) -> list[Hit]:
    """Return the best hits of all agents.

    Scores of agents are compared only if they are comparable: same mode, same vector space and equal settings of
    `query.hybrid`. The same lines of one file that several agents share are one hit.
    """
    found = [(agent, reply) for agent, reply in searched if reply.hits]
    made = {(reply.mode, _compared(reply), agent.config.settings.query.hybrid) for agent, reply in found}
    rankings = [
        [HitScores(hit.score, hit.vector_score, hit.text_score) for hit in reply.hits] for _, reply in found
    ]
    hits: dict[Hashable, Hit] = {}
    for at, rank in merge_agents(rankings, sum(map(len, rankings)), comparable=len(made) <= 1):
        agent, hit = found[at][0], found[at][1].hits[rank]
        hits.setdefault(_place(agent, hit), replace(hit, agent=agent.agent_id))
    return list(hits.values())[:most]


def _place(agent: Agent, hit: Hit) -> Hashable:
    """Return a key that is equal for hits of the same lines of one file: agents may share a workspace."""
    if hit.source != "memory":
        return agent.agent_id, hit.path, hit.start_line, hit.end_line
    return agent.config.workspace / hit.path, hit.start_line, hit.end_line


def _compared(reply: SearchReply) -> str:
    """Return the vector space that was searched; empty for keyword search alone."""
    return "" if reply.mode == "keyword" else reply.space
