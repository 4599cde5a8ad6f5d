"""reset: one agent or all, optionally with vectors; the rest is tests/daemon/test_upkeep.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from memd.rpc.methods import index, reset
from memd_client.errors import IndexIOError
from memd_client.messages import IndexParams, ResetParams
from tests.support.agents import BlockingRegistry, config_in
from tests.support.fake_provider import FakeProvider
from tests.support.registry import FakeRegistry
from tests.support.vector_fixture import FakeChooser
from tests.unit.rpc.methods.calling import call_of, run


def test_each_index_is_rebuilt_and_the_vectors_are_dropped_on_request(tmp_path: Path) -> None:
    configs = [
        config_in(tmp_path, name, workspace=tmp_path / name, provider="fake") for name in ("main", "other")
    ]
    chooser = FakeChooser(FakeProvider())
    with BlockingRegistry(tmp_path, *configs, chooser=chooser) as memory:
        call = call_of(memory.registry)
        for name in memory.agents:
            memory.note("MEMORY.md", f"Memory of {name}.", name)
        memory.run(index.handle, call, IndexParams())
        for vectors, embedded in ((False, 0), (True, 1)):
            for name in memory.agents:
                chooser.wanted = provider = FakeProvider()
                params = ResetParams(agent=name, delete_vectors=vectors)
                [row] = memory.run(reset.handle, call, params).agents
                assert (row.agent, row.files, len(provider.texts)) == (name, 1, embedded)


def test_all_indexes_are_rebuilt_if_no_agent_is_named(memory: BlockingRegistry) -> None:
    before = [agent.opened for agent in memory.agents.values()]
    rows = memory.run(reset.handle, call_of(memory.registry), ResetParams()).agents
    assert [(row.agent, row.files, row.error) for row in rows] == [("main", 1, None), ("other", 1, None)]
    assert not set(before) & {agent.opened for agent in memory.agents.values()}


def test_an_agents_failure_is_the_replys_or_its_rows() -> None:
    memory = FakeRegistry()
    memory.main.failure = IndexIOError("the disk is full")
    with pytest.raises(IndexIOError):
        run(reset.handle(call_of(memory), ResetParams(agent="main")))
    first, second = run(reset.handle(call_of(memory), ResetParams())).agents
    assert first.error is not None
    assert (first.error.code, second.error) == ("index_io", None)
