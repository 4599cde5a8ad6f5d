"""An agent's tools: which it is given, in whose shape, and what memory turned off leaves of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from memd.lifecycle.tools.definitions import SHAPES, TOOLS, Tool, define
from memd.lifecycle.tools.tools import Tools
from memd_client.tooling import CallToolParams, PromptSectionParams, ToolsParams
from tests.unit.lifecycle.scripted_host import ScriptedHost


def _tools(tmp_path: Path, *, enabled: bool = True, **others: Any) -> Tools:
    return Tools(ScriptedHost(tmp_path, enabled=enabled), lambda: 0, others)


async def _echo(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"given": arguments}


def test_an_agent_is_given_search_and_get(tmp_path: Path) -> None:
    given = _tools(tmp_path).definitions(ToolsParams()).tools

    assert [tool["name"] for tool in given] == ["memory_search", "memory_get"]


def test_tools_of_facts_come_where_they_are_wanted_and_can_be_run(tmp_path: Path) -> None:
    wanted = ToolsParams(include=["memory_store", "memory_search", "memory_forget"])

    given = _tools(tmp_path, memory_store=_echo).definitions(wanted).tools

    assert [tool["name"] for tool in given] == ["memory_search", "memory_store"]


def test_memory_turned_off_leaves_no_tool(tmp_path: Path) -> None:
    tools = _tools(tmp_path, enabled=False, memory_store=_echo)

    assert tools.definitions(ToolsParams(include=list(TOOLS))).tools == []
    assert tools.prompt_section(PromptSectionParams()).text == ""
    reply = trio.run(tools.call, CallToolParams("memory_search", {"query": "x"}))
    assert not reply.ok
    assert reply.result["expected"] == "no memory tool is available here"


def test_each_interface_gets_its_own_shape() -> None:
    plain, openai, anthropic = (define(["memory_get"], shape)[0] for shape in SHAPES)

    schema = plain["parameters"]
    assert openai == {
        "type": "function",
        "function": {"name": "memory_get", "description": plain["description"], "parameters": schema},
    }
    assert anthropic == {
        "name": "memory_get",
        "description": plain["description"],
        "input_schema": schema,
    }


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_a_definition_describes_every_argument_and_its_example_fits(tool: Tool) -> None:
    schema = tool.schema()

    assert schema["type"] == "object"
    assert not schema["additionalProperties"]
    assert set(schema["required"]) <= set(tool.example) <= set(schema["properties"])
    assert all(facts["description"].endswith(".") for facts in schema["properties"].values())
    assert len(tool.description) < 500


def test_what_is_handed_out_can_be_changed_without_changing_the_next() -> None:
    first = define(["memory_search"], "plain")[0]
    first["parameters"]["properties"]["query"]["type"] = "integer"

    assert define(["memory_search"], "plain")[0]["parameters"]["properties"]["query"]["type"] == "string"


def test_a_tool_of_facts_gets_its_arguments_checked(tmp_path: Path) -> None:
    tools = _tools(tmp_path, memory_store=_echo)

    right = trio.run(tools.call, CallToolParams("memory_store", {"text": "a", "importance": "0.5"}))
    wrong = trio.run(tools.call, CallToolParams("memory_store", {"text": "a", "category": "gossip"}))

    assert right.result == {"given": {"text": "a", "importance": 0.5}}
    assert not wrong.ok
    assert "one of preference, fact" in wrong.result["error"]
