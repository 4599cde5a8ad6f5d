"""get: lines of the agent's files, checked first."""

from __future__ import annotations

import pytest

from memd.rpc.methods import get
from memd_client.errors import BadParamsError, PathRefusedError
from memd_client.messages import GetParams
from tests.unit.rpc.methods.calling import call_of, run


def test_the_agent_meant_reads() -> None:
    assert run(get.handle(call_of(), GetParams(path="MEMORY.md", agent="other"))).agent == "other"
    with pytest.raises(PathRefusedError):
        run(get.handle(call_of(), GetParams(path="/etc/passwd")))


@pytest.mark.parametrize(
    ("field", "params"),
    [
        ("from_line", GetParams(path="MEMORY.md", from_line=0)),
        ("lines", GetParams(path="MEMORY.md", lines=0)),
    ],
)
def test_lines_start_at_one(field: str, params: GetParams) -> None:
    with pytest.raises(BadParamsError, match=f"`{field}` must be at least 1"):
        run(get.handle(call_of(), params))
