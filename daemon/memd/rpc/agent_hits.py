"""Hits of several agents in one list, each with its agent."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from msgspec.structs import replace

from memd.agents.agent import Agent
from memd.search.rank.agents import HitScores, count_fitting, merge_agents
from memd.search.service import MAX_RESULTS_WITHIN_BUDGET
from memd.search.snippets import MAX_HIT_CHARACTERS, with_falling_scores
from memd.settings.schema import QuerySettings
from memd_client.hit_text import (
    NO_STRONG_MATCH,
    agent_label,
    are_all_weak,
    size_of_hit,
    without_surplus_weak,
)
from memd_client.messages import Hit, SearchAgentsParams, SearchReply


def max_hits(params: SearchAgentsParams, defaults: QuerySettings) -> int:
    """Return the most hits of all agents together."""
    if params.max_results is not None:
        return params.max_results
    return defaults.max_results if params.max_chars is None else MAX_RESULTS_WITHIN_BUDGET


def shows_few_weak(params: SearchAgentsParams) -> bool:
    """Return whether weak hits beyond the first few are left out."""
    shows_all = params.include_weak or (params.min_score is not None and params.min_score <= 0)
    return params.limit_weak and not shows_all


def agent_budget(max_chars: int | None, agent_id: str) -> int | None:
    """Return the characters for one agent's search, enough to include the first hit that no longer fits.

    That hit ends the merged list as well, so that a larger budget only adds hits. A budget below one hit shortens it,
    and leaves space for the agent's name.
    """
    if max_chars is None:
        return None
    if max_chars < MAX_HIT_CHARACTERS:
        return max(1, max_chars - len(agent_label(agent_id)))
    return max_chars + MAX_HIT_CHARACTERS


def merged_hits(
    searched: Sequence[tuple[Agent, SearchReply]],
    most: int,
    max_chars: int | None = None,
    *,
    limit_weak: bool = False,
) -> list[Hit]:
    """Return the best hits of all agents; together they have at most `max_chars` characters as they are shown.

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
    merged = list(hits.values())
    if limit_weak:
        merged = without_surplus_weak(merged, lambda hit: hit.relevance)
    best = with_falling_scores(merged[:most])
    if max_chars is None:
        return best
    if limit_weak and are_all_weak(best[:1]):
        max_chars -= len(NO_STRONG_MATCH) + 2
    return best[: max(1, count_fitting(map(size_of_hit, best), max_chars))]


def _place(agent: Agent, hit: Hit) -> Hashable:
    """Return a key that is equal for hits of the same lines of one file: agents may share a workspace."""
    if hit.source != "memory":
        return agent.agent_id, hit.path, hit.start_line, hit.end_line
    return agent.config.workspace / hit.path, hit.start_line, hit.end_line


def _compared(reply: SearchReply) -> str:
    """Return the vector space that was searched; empty for keyword search alone."""
    return "" if reply.mode == "keyword" else reply.space
