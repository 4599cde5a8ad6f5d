"""Requests that work on one agent or on all: a row for each, and whose progress it is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from memd.rpc.call import AgentMemory, Call, ProgressSink, problem_of
from memd_client.errors import MemdError
from memd_client.messages import IndexedAgent, Problem

log = structlog.get_logger(__name__)

Row = TypeVar("Row")


async def ask_each(
    call: Call,
    named: str | None,
    ask: Callable[[AgentMemory, ProgressSink], Awaitable[Row]],
    failed: Callable[[str, Problem], Row],
) -> list[Row]:
    """Ask one agent, or all one after another: each has all cores then."""
    if named is not None:
        return [await ask(call.memory.agent(named), call.progress)]
    rows: list[Row] = []
    for agent_id in list(call.memory.agents):
        try:
            rows.append(await ask(call.memory.agent(agent_id), _named(call.progress, agent_id)))
        except Exception as error:  # noqa: BLE001 - logged there; one agent's failure is not the others'
            rows.append(failed(agent_id, problem_at(agent_id, error)))
    return rows


def problem_at(agent_id: str, error: Exception) -> Problem:
    """Return one agent's failure as a problem; what is no error of memory is logged with its traceback."""
    single: BaseException = error
    while isinstance(single, BaseExceptionGroup) and len(single.exceptions) == 1:
        single = single.exceptions[0]
    if not isinstance(single, MemdError):
        log.error("rpc.agent_crashed", agent=agent_id, exc_info=error)
        single = MemdError(f"the request crashed at agent {agent_id} ({type(single).__name__})")
    return problem_of(single)


def _named(progress: ProgressSink, agent_id: str) -> ProgressSink:
    """Return a sink whose detail begins with the agent's id."""

    def sink(stage: str, done: int, total: int, detail: str) -> None:
        progress(stage, done, total, f"{agent_id}: {detail}" if detail else agent_id)

    return sink


def not_indexed(agent_id: str, problem: Problem) -> IndexedAgent:
    """Return the row of an agent whose sync failed."""
    return IndexedAgent(agent_id, 0, 0, 0, 0, 0, 0, 0.0, error=problem)
