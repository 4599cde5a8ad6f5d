"""Requests to several agents: a row for each, so that one that fails or hangs doesn't affect the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import trio

from memd.agents.agent import Agent
from memd.agents.status import as_problem
from memd.rpc.call import Call, ProgressSink, single_error
from memd.system.log import log
from memd_client.errors import DeadlineExceededError, MemdError
from memd_client.messages import AgentStatus, IndexedAgent, Problem

Row = TypeVar("Row")

STATUS_TIMEOUT_S = 5.0
"""Longest time of one agent's status: counting rows of a large index on a busy disk."""

DEEP_STATUS_TIMEOUT_S = 20.0
"""Longest time of a deep status, which may load a model; below the client's default timeout of 30 s."""


async def ask_each(
    call: Call,
    named: str | None,
    ask: Callable[[Agent, ProgressSink], Awaitable[Row]],
    failed: Callable[[str, Problem], Row],
) -> list[Row]:
    """Send a request to one agent, or to all in sequence, so that each can use all cores."""
    if named is not None:
        return [await ask(call.registry.agent(named), call.progress)]
    rows: list[Row] = []
    for agent_id in list(call.registry.agents):
        try:
            rows.append(await ask(call.registry.agent(agent_id), _named(call.progress, agent_id)))
        except Exception as error:  # noqa: BLE001 - logged there; one agent's failure must not affect the others
            rows.append(failed(agent_id, problem_at(agent_id, error)))
    return rows


async def load_statuses(agents: Mapping[str, Agent], *, deep: bool = False) -> list[AgentStatus]:
    """Return the status of each agent, in order; one that fails or times out is a row with only its problem."""
    rows: dict[str, AgentStatus] = {}

    async def load(agent_id: str, agent: Agent) -> None:
        rows[agent_id] = await _load_status(agent_id, agent, deep)

    async with trio.open_nursery() as nursery:
        for agent_id, agent in agents.items():
            nursery.start_soon(load, agent_id, agent)
    return [rows[agent_id] for agent_id in agents]


async def _load_status(agent_id: str, agent: Agent, deep: bool) -> AgentStatus:
    """Return one agent's status, or a row with only its problem."""
    limit_s = DEEP_STATUS_TIMEOUT_S if deep else STATUS_TIMEOUT_S
    try:
        with trio.fail_after(limit_s):
            return await agent.status(deep)
    except trio.TooSlowError:
        late = DeadlineExceededError(f"agent {agent_id} did not report its status in {limit_s:g} s")
        return AgentStatus(agent_id, problems=[as_problem(late)])
    except MemdError as error:
        return AgentStatus(agent_id, problems=[as_problem(error)])
    except Exception as error:
        log.exception("rpc.status_agent_crashed", agent=agent_id)
        crash = MemdError(f"the status of agent {agent_id} crashed ({type(error).__name__})")
        return AgentStatus(agent_id, problems=[as_problem(crash)])


def problem_at(agent_id: str, error: Exception) -> Problem:
    """Return one agent's failure as a problem; any error but a `MemdError` is logged with its traceback."""
    single = single_error(error)
    if not isinstance(single, MemdError):
        log.error("rpc.agent_crashed", agent=agent_id, exc_info=error)
        single = MemdError(f"the request crashed at agent {agent_id} ({type(single).__name__})")
    return as_problem(single)


def _named(progress: ProgressSink, agent_id: str) -> ProgressSink:
    """Return a sink whose detail begins with the agent's id."""

    def sink(stage: str, done: int, total: int, detail: str) -> None:
        progress(stage, done, total, f"{agent_id}: {detail}" if detail else agent_id)

    return sink


def not_indexed(agent_id: str, problem: Problem) -> IndexedAgent:
    """Return the row of an agent whose sync failed."""
    return IndexedAgent(agent_id, 0, 0, 0, 0, 0, 0, 0.0, error=problem)
