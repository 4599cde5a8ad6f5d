"""vacuum: one agent or all, with what it brought; the rest is tests/daemon/test_maintenance.py."""

from __future__ import annotations

import pytest

from memd.rpc.methods import index, vacuum
from memd_client.errors import IndexIOError
from memd_client.messages import IndexParams, VacuumParams
from tests.support.agents import BlockingRegistry
from tests.support.registry import FakeRegistry
from tests.unit.rpc.methods.calling import call_of, run


def test_each_agent_says_what_it_brought(memory: BlockingRegistry) -> None:
    call = call_of(memory.registry)
    memory.run(index.handle, call, IndexParams())
    rows = memory.run(vacuum.handle, call, VacuumParams()).agents
    assert [(row.agent, row.bytes_after < row.bytes_before, row.vectors_removed) for row in rows] == [
        ("main", True, 0),
        ("other", True, 0),
    ]


def test_an_agents_failure_is_the_replys_or_its_rows() -> None:
    memory = FakeRegistry()
    memory.main.failure = IndexIOError("the disk is full")
    with pytest.raises(IndexIOError):
        run(vacuum.handle(call_of(memory), VacuumParams(agent="main")))
    first, second = run(vacuum.handle(call_of(memory), VacuumParams())).agents
    assert first.error is not None
    assert (first.error.code, second.error) == ("index_io", None)
