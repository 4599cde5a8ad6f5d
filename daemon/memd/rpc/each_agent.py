"""Requests to each of several agents: a row for each, so that one that fails or hangs costs the others nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import structlog
import trio

from memd.agents.agent import Agent
from memd.agents.status import as_problem
from memd.rpc.call import Call, ProgressSink, single_error
from memd_client.errors import DeadlineExceededError, MemdError
from memd_client.messages import AgentStatus, IndexedAgent, Problem

log = structlog.get_logger(__name__)

Row = TypeVar("Row")

STATUS_TIMEOUT_S = 5.0
"""How long one agent's status may take: counting rows of a large index on a busy disk."""

DEEP_STATUS_TIMEOUT_S = 20.0
"""The same with probes, which load a model if none is loaded; below the client's usual 30 s."""


async def ask_each(
    call: Call,
    named: str | None,
    ask: Callable[[Agent, ProgressSink], Awaitable[Row]],
    failed: Callable[[str, Problem], Row],
) -> list[Row]:
    """Ask one agent, or all one after another: each has all cores then."""
    if named is not None:
        return [await ask(call.registry.agent(named), call.progress)]
    rows: list[Row] = []
    for agent_id in list(call.registry.agents):
        try:
            rows.append(await ask(call.registry.agent(agent_id), _named(call.progress, agent_id)))
        except Exception as error:  # noqa: BLE001 - logged there; one agent's failure is not the others'
            rows.append(failed(agent_id, problem_at(agent_id, error)))
    return rows


async def load_statuses(agents: Mapping[str, Agent], *, deep: bool = False) -> list[AgentStatus]:
    """Return the status of each agent, in their order; one that fails or is late is a row with its problem alone."""
    rows: dict[str, AgentStatus] = {}

    async def load(agent_id: str, agent: Agent) -> None:
        rows[agent_id] = await _load_status(agent_id, agent, deep)

    async with trio.open_nursery() as nursery:
        for agent_id, agent in agents.items():
            nursery.start_soon(load, agent_id, agent)
    return [rows[agent_id] for agent_id in agents]


async def _load_status(agent_id: str, agent: Agent, deep: bool) -> AgentStatus:
    """Return one agent's status, or a row with nothing but the problem."""
    limit_s = DEEP_STATUS_TIMEOUT_S if deep else STATUS_TIMEOUT_S
    try:
        with trio.fail_after(limit_s):
            return await agent.status(deep)
    except trio.TooSlowError:
        late = DeadlineExceededError(f"agent {agent_id} did not report in {limit_s:g} s")
        return AgentStatus(agent_id, problems=[as_problem(late)])
    except MemdError as error:
        return AgentStatus(agent_id, problems=[as_problem(error)])
    except Exception as error:
        log.exception("rpc.status_agent_crashed", agent=agent_id)
        crash = MemdError(f"the report of agent {agent_id} crashed ({type(error).__name__})")
        return AgentStatus(agent_id, problems=[as_problem(crash)])


def problem_at(agent_id: str, error: Exception) -> Problem:
    """Return one agent's failure as a problem; what is no error of memory is logged with its traceback."""
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
