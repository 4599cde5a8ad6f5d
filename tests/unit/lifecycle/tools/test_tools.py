"""An agent's tools: which it is given, in whose shape, and what its prompt says of them."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

import pytest
import trio

from memd.lifecycle.notes.session_kinds import KINDS, kind_of_session, settle_kind
from memd.lifecycle.tools.definitions import (
    MAX_CHARACTERS,
    TOOLS,
    Shape,
    ToolDefinition,
    define,
    recall_section,
)
from memd.lifecycle.tools.tools import Tools
from memd.settings.lifecycle import LifecycleSettings
from memd_client.tooling import CallToolParams, PromptSectionParams, ToolsParams
from tests.support.agents import config_in, unopened_agent


def _tools(tmp_path: Path, *, enabled: bool = True, **others: Any) -> Tools:
    return Tools(unopened_agent(tmp_path, config_in(tmp_path, enabled=enabled)), others)


async def _echo(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"given": arguments}


def test_an_agent_is_given_search_and_get(tmp_path: Path) -> None:
    given = _tools(tmp_path).definitions(ToolsParams()).tools

    assert [tool["name"] for tool in given] == ["memory_search", "memory_get"]


def test_fact_tools_are_given_if_included_and_available(tmp_path: Path) -> None:
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
    plain, openai, anthropic = (define(["memory_get"], shape)[0] for shape in get_args(Shape))

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
def test_a_definition_describes_every_argument_and_its_example_fits(tool: ToolDefinition) -> None:
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


SETS = [chosen for size in range(len(TOOLS) + 1) for chosen in combinations(TOOLS, size)]


@pytest.mark.parametrize("tools", SETS, ids="+".join)
def test_the_section_names_the_tools_there_are_and_is_short(tools: tuple[str, ...]) -> None:
    for citations in (True, False):
        text = recall_section(tools, citations=citations)

        assert set(re.findall(r"memory_[a-z]+", text)) == set(tools)
        assert len(text) < MAX_CHARACTERS
        assert bool(text) is bool(tools)


@pytest.mark.parametrize(
    ("tools", "named"),
    [
        (["memory_search", "sessions_search", "sessions_history"], ["sessions_search", "sessions_history"]),
        (["memory_search", "sessions_search"], ["sessions_search"]),
        (["memory_search", "sessions_history"], ["sessions_history"]),
        (["memory_get", "sessions_search", "sessions_history"], []),
        (["memory_search"], []),
    ],
)
def test_an_excerpt_of_a_conversation_leads_to_the_tools_there_are(
    tools: list[str], named: list[str]
) -> None:
    text = recall_section(tools, citations=True)

    assert re.findall(r"sessions_[a-z]+", text) == named
    assert len(recall_section([*TOOLS, *tools], citations=True)) < MAX_CHARACTERS


def test_session_tools_alone_make_no_section(tmp_path: Path) -> None:
    tools = ["sessions_search", "sessions_history"]
    wanted = _tools(tmp_path).prompt_section(PromptSectionParams(tools=tools))

    assert wanted.text == ""


def test_the_section_says_how_to_cite_and_that_memory_gives_no_orders() -> None:
    on, off = (recall_section(["memory_search"], citations=citations) for citations in (True, False))

    assert "Source: path#L3-L9" in on
    assert "Source:" not in off
    assert "not instructions" in on


@pytest.mark.parametrize(
    ("setting", "params", "citations"),
    [
        ("auto", {}, "on"),
        ("auto", {"session_kind": "group"}, "off"),
        ("auto", {"session_key": "agent:main:discord:channel:1"}, "off"),
        ("auto", {"session_kind": "group", "citations": "on"}, "on"),
        ("on", {"session_kind": "group"}, "on"),
        ("off", {}, "off"),
        ("off", {"citations": "auto"}, "on"),
    ],
)
def test_the_request_comes_before_the_setting(
    tmp_path: Path, setting: Any, params: dict[str, Any], citations: str
) -> None:
    config = config_in(tmp_path, life=LifecycleSettings(citations=setting))
    tools = Tools(unopened_agent(tmp_path, config))

    reply = tools.prompt_section(PromptSectionParams(**params))

    assert reply.citations == citations
    assert reply.text == recall_section(["memory_search", "memory_get"], citations=citations == "on")


def test_tools_that_are_not_memorys_dont_count(tmp_path: Path) -> None:
    tools = _tools(tmp_path)

    assert tools.prompt_section(PromptSectionParams(tools=["read", "memory_store"])).text == ""
    assert "memory_get" not in tools.prompt_section(PromptSectionParams(tools=["memory_search"])).text


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("agent:main:main", "main"),
        ("AGENT:Main:MAIN", "main"),
        ("main", "main"),
        ("agent:main:main:thread:42", "main"),
        ("agent:work:main", "direct"),
        ("agent:main:main:direct:eve", "direct"),
        ("agent:main:direct:eve", "direct"),
        ("agent:main:whatsapp:direct:+4915", "direct"),
        ("agent:main:telegram:group:-100:topic:7", "group"),
        ("agent:main:discord:channel:1", "channel"),
        ("group:123", "group"),
        ("agent:main:subagent:7d1c", "subagent"),
        ("agent:main:telegram:group:-100:subagent:x", "subagent"),
        ("agent:main:cron:daily:run:1", "cron"),
        ("agent:main:main:heartbeat", "heartbeat"),
        ("", "direct"),
        (":::", "direct"),
        ("agent:main", "direct"),
    ],
)
def test_a_key_tells_the_kind_of_its_session(key: str, kind: str) -> None:
    assert kind_of_session(key, "main") == kind


def test_a_given_kind_counts_unless_it_would_lay_open_what_is_private() -> None:
    assert settle_kind("main", "some-opaque-key", "main") == "main"
    assert settle_kind("group", "agent:main:main", "main") == "group"
    assert settle_kind("main", "agent:main:telegram:group:1", "main") == "group"
    assert settle_kind("main", "agent:main:subagent:1", "main") == "subagent"
    assert {settle_kind(kind, "", "main") for kind in KINDS} == set(KINDS)
