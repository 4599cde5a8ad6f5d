"""files: an agent's files, checked numbers first."""

from __future__ import annotations

import pytest

from memd.rpc.methods import files
from memd_client.errors import AgentUnknownError
from memd_client.messages import FilesParams
from tests.support.agents import BlockingRegistry
from tests.unit.rpc.methods.calling import call_of


def test_the_agent_meant_lists(memory: BlockingRegistry) -> None:
    call = call_of(memory.registry)
    memory.note("memory/only-here.md", "x", "other")
    listed = memory.run(files.handle, call, FilesParams(agent="other"))
    assert {row.path for row in listed.files} == {"MEMORY.md", "memory/only-here.md"}
    with pytest.raises(AgentUnknownError):
        memory.run(files.handle, call, FilesParams(agent="nobody"))
