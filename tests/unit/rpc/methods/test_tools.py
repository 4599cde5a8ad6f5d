"""tools: definitions in the shape that is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memd.rpc.methods import tools
from memd_client.errors import AgentUnknownError, BadParamsError
from memd_client.tooling import ToolsParams
from tests.unit.lifecycle.scripted_host import ScriptedHost
from tests.unit.rpc.methods.calling import run
from tests.unit.rpc.methods.living import living_call


def test_the_reply_holds_the_tools_in_the_shape_asked_for(tmp_path: Path) -> None:
    call = living_call(ScriptedHost(tmp_path))

    reply = run(tools.handle(call, ToolsParams(shape="anthropic", include=["memory_get"])))

    assert (reply.agent, reply.shape) == ("main", "anthropic")
    assert [tool["name"] for tool in reply.tools] == ["memory_get"]
    assert "input_schema" in reply.tools[0]


@pytest.mark.parametrize(
    ("params", "field"), [({"shape": "xml"}, "shape"), ({"include": ["memory_get", "rm"]}, "include")]
)
def test_what_isnt_known_is_named(tmp_path: Path, params: dict[str, Any], field: str) -> None:
    with pytest.raises(BadParamsError, match=f"`{field}`") as caught:
        run(tools.handle(living_call(ScriptedHost(tmp_path)), ToolsParams(**params)))
    assert caught.value.data == {"field": field}


def test_an_unknown_agent_is_named(tmp_path: Path) -> None:
    with pytest.raises(AgentUnknownError):
        run(tools.handle(living_call(ScriptedHost(tmp_path)), ToolsParams(agent="nobody")))
