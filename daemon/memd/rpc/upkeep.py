"""What requests that look after an index share: the memory behind an agent, and a row for each agent asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar, cast

import structlog

from memd.rpc.call import AgentMemory, Call, ProgressSink, problem_of
from memd_client.errors import AgentReloadingError, MemdError
from memd_client.messages import Problem, VacuumedAgent

log = structlog.get_logger(__name__)

Row = TypeVar("Row")


class OpenMemory(Protocol):
    """A memory whose index is open."""

    def reset(self, *, vectors: bool) -> None:
        """Give the index up."""

    async def vacuum(self) -> VacuumedAgent:
        """Make the index small."""


async def open_memory(agent: AgentMemory) -> OpenMemory:
    """Return the memory behind an agent, once it is open.

    Raises:
        MemdError: Why it isn't.
    """
    status = await agent.status(False)  # waits where it is just being opened
    memory = getattr(agent, "memory", None)
    if memory is None:
        if status.problems:
            problem = status.problems[0]
            shape = {"code": problem.code, "message": problem.message, "data": {"hint": problem.hint}}
            raise MemdError.from_wire(shape)
        raise AgentReloadingError(f"agent {agent.agent_id} is being opened anew")
    return cast(OpenMemory, memory)


def progress_of(call: Call, agent_id: str, named: str | None) -> ProgressSink:
    """Return where an agent's progress goes; its detail begins with the agent's id where none was named."""
    if named is not None:
        return call.progress

    def sink(stage: str, done: int, total: int, detail: str) -> None:
        call.progress(stage, done, total, f"{agent_id}: {detail}" if detail else agent_id)

    return sink


async def row_of_each(
    call: Call,
    named: str | None,
    ask: Callable[[AgentMemory], Awaitable[Row]],
    failed: Callable[[str, Problem], Row],
) -> list[Row]:
    """Ask one agent, or all one after another.

    Args:
        call: The request.
        named: The agent it names; its failure is the reply's.
        ask: Returns an agent's row.
        failed: Returns the row of one of all whose part failed; the others go on.

    Raises:
        AgentUnknownError: There is no such agent.
        MemdError: The named agent's failure.
    """
    if named is not None:
        return [await ask(call.memory.agent(named))]
    rows: list[Row] = []
    for agent_id in list(call.memory.agents):
        try:
            rows.append(await ask(call.memory.agent(agent_id)))
        except MemdError as error:
            rows.append(failed(agent_id, problem_of(error)))
        except Exception as error:
            log.exception("rpc.upkeep_agent_crashed", agent=agent_id)
            crash = MemdError(f"the request crashed at agent {agent_id} ({type(error).__name__})")
            rows.append(failed(agent_id, problem_of(crash)))
    return rows
