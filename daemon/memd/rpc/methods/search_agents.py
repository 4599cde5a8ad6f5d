"""search_agents: a query to the memory of several agents, their hits in one list."""

from __future__ import annotations

import trio

from memd.agents.agent import Agent
from memd.rpc.agent_hits import agent_budget, max_hits, merged_hits, shows_few_weak
from memd.rpc.call import Call
from memd.rpc.each_agent import problem_at
from memd.rpc.metrics import count_reply
from memd.search.service import DEADLINE_SLACK_S
from memd_client.errors import DeadlineExceededError, QueryEmptyError
from memd_client.messages import (
    Problem,
    SearchAgentsParams,
    SearchAgentsReply,
    SearchedAgent,
    SearchParams,
    SearchReply,
)

Outcome = SearchReply | Problem

SHARED = tuple(name for name in SearchAgentsParams.__struct_fields__ if name != "agents")
"""The parameters that each agent's search has as well."""

AGENT_TIMEOUT_S = 20.0
"""Longest time of an agent's search without a deadline; below the client's default timeout of 30 s."""


async def handle(call: Call, params: SearchAgentsParams) -> SearchAgentsReply:
    """Return the hits of the agents, best first, and how each agent was searched.

    An agent that fails or hangs is a row with its error, and doesn't affect the others.
    """
    started = trio.current_time()
    agents = _agents_of(call, params.agents)
    if not params.query.strip():
        raise QueryEmptyError("the query is empty")
    most = max_hits(params, call.registry.agent(None).config.settings.query)
    replies: dict[str, Outcome] = {}

    async def search(agent: Agent) -> None:
        try:
            replies[agent.agent_id] = await _search_one(call, agent, params, most, started)
        except Exception as error:  # noqa: BLE001 - logged there; one agent's failure must not affect the others
            replies[agent.agent_id] = problem_at(agent.agent_id, error)

    async with trio.open_nursery() as nursery:
        for agent in agents.values():
            nursery.start_soon(search, agent)
    found = {key: reply for key in agents if isinstance(reply := replies[key], SearchReply)}
    return SearchAgentsReply(
        hits=merged_hits(
            [(agents[key], reply) for key, reply in found.items()],
            most,
            params.max_chars,
            limit_weak=shows_few_weak(params),
        ),
        agents=[_row(agent_id, replies[agent_id]) for agent_id in agents],
        took_ms=round((trio.current_time() - started) * 1000, 3),
    )


def _agents_of(call: Call, named: list[str] | None) -> dict[str, Agent]:
    """Return the named agents, each once, or all whose memory is on."""
    if named is None:
        return {key: agent for key, agent in call.registry.agents.items() if agent.config.settings.enabled}
    found = [call.registry.agent(each) for each in named]
    return {agent.agent_id: agent for agent in found}


async def _search_one(
    call: Call, agent: Agent, params: SearchAgentsParams, most: int, started: float
) -> SearchReply:
    """Search one agent's memory when it has a slot, within the deadline of the request."""
    deadline_ms = params.deadline_ms
    limit_s = AGENT_TIMEOUT_S if deadline_ms is None else deadline_ms / 1000 + DEADLINE_SLACK_S
    with trio.move_on_at(started + limit_s):
        async with call.slot("search"):
            spent_ms = int((trio.current_time() - started) * 1000)
            left_ms = None if deadline_ms is None else max(1, deadline_ms - spent_ms)
            given = {name: getattr(params, name) for name in SHARED}
            given |= {"agent": agent.agent_id, "max_results": most, "deadline_ms": left_ms}
            given["max_chars"] = agent_budget(params.max_chars, agent.agent_id)
            reply = await agent.search(SearchParams(**given))
        count_reply(call.daemon.meter, reply)
        return reply
    raise DeadlineExceededError(f"the search of agent {agent.agent_id} did not end in {limit_s:g} s")


def _row(agent_id: str, reply: Outcome) -> SearchedAgent:
    """Return how an agent was searched, or why it wasn't."""
    if isinstance(reply, Problem):
        return SearchedAgent(agent_id, error=reply)
    return SearchedAgent(
        agent_id,
        mode=reply.mode,
        degraded=reply.degraded,
        abstained=reply.abstained,
        took_ms=reply.took_ms,
        pending=reply.pending,
        partial=reply.partial,
        fallback=reply.fallback,
        provider=reply.provider,
        model=reply.model,
        empty=reply.empty,
    )
