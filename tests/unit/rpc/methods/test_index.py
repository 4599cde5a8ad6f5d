"""index: one agent or all, and one agent's failure is its own."""

from __future__ import annotations

from typing import Any

import pytest

from memd.rpc.methods import index
from memd_client.errors import AgentUnknownError, MemoryDisabledError
from memd_client.messages import IndexParams
from tests.support.agents import BlockingRegistry
from tests.support.registry import FakeRegistry
from tests.unit.rpc.methods.calling import call_of, run


def test_all_agents_are_synced_and_progress_names_them(memory: BlockingRegistry) -> None:
    told: list[tuple[Any, ...]] = []
    reply = memory.run(index.handle, call_of(memory.registry, told), IndexParams(force=True))
    assert [(row.agent, row.files, row.files_changed) for row in reply.agents] == [
        ("main", 1, 1),
        ("other", 1, 1),
    ]
    assert told == [("text", 1, 1, "main: MEMORY.md"), ("text", 1, 1, "other: MEMORY.md")]


def test_one_agent_is_synced_alone(memory: BlockingRegistry) -> None:
    told: list[tuple[Any, ...]] = []
    call = call_of(memory.registry, told)
    reply = memory.run(index.handle, call, IndexParams(agent="other", force=True))
    assert [row.agent for row in reply.agents] == ["other"]
    assert told == [("text", 1, 1, "MEMORY.md")]
    with pytest.raises(AgentUnknownError):
        memory.run(index.handle, call, IndexParams(agent="nobody"))


@pytest.mark.parametrize(
    ("failure", "code"),
    [(MemoryDisabledError("off for main"), "memory_disabled"), (OSError("secret"), "internal")],
)
def test_of_all_agents_one_failure_is_a_row_and_the_others_go_on(failure: Exception, code: str) -> None:
    memory = FakeRegistry()
    memory.main.failure = failure
    first, second = run(index.handle(call_of(memory), IndexParams())).agents
    assert first.error is not None
    assert first.error.code == code
    assert first.error.hint
    assert "secret" not in str(first)
    assert (second.error, second.files) == (None, 2)


def test_the_failure_of_the_agent_named_is_the_replys() -> None:
    memory = FakeRegistry()
    memory.main.failure = MemoryDisabledError("off")
    with pytest.raises(MemoryDisabledError):
        run(index.handle(call_of(memory), IndexParams(agent="main")))
