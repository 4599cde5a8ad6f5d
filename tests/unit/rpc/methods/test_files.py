"""files: an agent's files, checked numbers first."""

from __future__ import annotations

import pytest

from memd.rpc.methods import files
from memd_client.errors import AgentUnknownError, BadParamsError
from memd_client.messages import FilesParams
from tests.unit.rpc.methods.calling import call_of, run


def test_the_agent_meant_lists() -> None:
    assert run(files.handle(call_of(), FilesParams(agent="other"))).files[0].title == "other"
    with pytest.raises(AgentUnknownError):
        run(files.handle(call_of(), FilesParams(agent="nobody")))


@pytest.mark.parametrize(
    ("field", "params"),
    [
        ("offset", FilesParams(offset=-1)),
        ("limit", FilesParams(limit=0)),
        ("limit", FilesParams(limit=1_001)),
        ("sources", FilesParams(sources=[])),
        ("sources", FilesParams(sources=["mail"])),
    ],
)
def test_what_is_out_of_range_is_named(field: str, params: FilesParams) -> None:
    with pytest.raises(BadParamsError, match=f"`{field}` must"):
        run(files.handle(call_of(), params))
