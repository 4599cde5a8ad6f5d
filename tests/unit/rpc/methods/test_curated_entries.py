"""curated_entries: entries of the agent meant, checked first."""

from __future__ import annotations

import pytest

from memd.rpc.methods import curated_entries
from memd_client.errors import AgentUnknownError
from memd_client.messages import CuratedEntriesParams
from tests.unit.rpc.methods.calling import call_of, run


def test_the_agent_meant_lists() -> None:
    params = CuratedEntriesParams(kind="triggers", agent="other")
    assert run(curated_entries.handle(call_of(), params)).entries[0].text == "other"
    with pytest.raises(AgentUnknownError):
        run(curated_entries.handle(call_of(), CuratedEntriesParams(kind="triggers", agent="nobody")))
