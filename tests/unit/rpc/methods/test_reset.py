"""reset: one agent or all, optionally with vectors; the rest is tests/daemon/test_upkeep.py."""

from __future__ import annotations

import pytest

from memd.rpc.methods import reset
from memd_client.errors import IndexIOError
from memd_client.messages import ResetParams
from tests.support.registry import FakeRegistry
from tests.unit.rpc.methods.calling import call_of, run


def test_the_vectors_are_dropped_on_request() -> None:
    assert [row.embedded for row in run(reset.handle(call_of(), ResetParams())).agents] == [0, 0]
    assert [row.embedded for row in run(reset.handle(call_of(), ResetParams(vectors=True))).agents] == [4, 4]


def test_an_agents_failure_is_the_replys_or_its_rows() -> None:
    memory = FakeRegistry()
    memory.main.failure = IndexIOError("the disk is full")
    with pytest.raises(IndexIOError):
        run(reset.handle(call_of(memory), ResetParams(agent="main")))
    first, second = run(reset.handle(call_of(memory), ResetParams())).agents
    assert first.error is not None
    assert (first.error.code, second.error) == ("index_io", None)
