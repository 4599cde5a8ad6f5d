"""The prompt tells of the tools a model has, and of no others; the session decides about citations."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from memd.lifecycle.notes.session_kinds import KINDS, kind_of_session, settle_kind
from memd.lifecycle.tools.definitions import TOOLS
from memd.lifecycle.tools.prompt import MOST_CHARACTERS, recall_section
from memd.lifecycle.tools.tools import Tools
from memd.settings.lifecycle import Life
from memd_client.tooling import PromptSectionParams
from tests.unit.lifecycle.scripted_host import ScriptedHost

SETS = [chosen for size in range(len(TOOLS) + 1) for chosen in combinations(TOOLS, size)]


@pytest.mark.parametrize("tools", SETS, ids="+".join)
def test_the_section_names_the_tools_there_are_and_is_short(tools: tuple[str, ...]) -> None:
    for citations in (True, False):
        text = recall_section(tools, citations=citations)

        assert set(re.findall(r"memory_[a-z]+", text)) == set(tools)
        assert len(text) < MOST_CHARACTERS
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
    assert len(recall_section([*TOOLS, *tools], citations=True)) < MOST_CHARACTERS


def test_session_tools_alone_make_no_section(tmp_path: Path) -> None:
    tools = ["sessions_search", "sessions_history"]
    wanted = Tools(ScriptedHost(tmp_path), lambda: 0).prompt_section(PromptSectionParams(tools=tools))

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
    tools = Tools(ScriptedHost(tmp_path, Life(citations=setting)), lambda: 0)

    reply = tools.prompt_section(PromptSectionParams(**params))

    assert reply.citations == citations
    assert reply.text == recall_section(["memory_search", "memory_get"], citations=citations == "on")


def test_tools_that_are_not_memorys_dont_count(tmp_path: Path) -> None:
    tools = Tools(ScriptedHost(tmp_path), lambda: 0)

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
