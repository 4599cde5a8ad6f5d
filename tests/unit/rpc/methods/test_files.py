"""files: an agent's files, checked numbers first."""

from __future__ import annotations

import pytest

from memd.rpc.methods import files
from memd_client.errors import AgentUnknownError
from memd_client.messages import FilesParams
from tests.unit.rpc.methods.calling import call_of, run


def test_the_agent_meant_lists() -> None:
    assert run(files.handle(call_of(), FilesParams(agent="other"))).files[0].title == "other"
    with pytest.raises(AgentUnknownError):
        run(files.handle(call_of(), FilesParams(agent="nobody")))
