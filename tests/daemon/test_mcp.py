"""`memctl mcp` with a real daemon: every tool, called by the SDK's client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from mcp import ClientSession

from tests.support.daemon import DaemonProcess
from tests.support.mcp_session import run_mcp_session, text_of
from tests.support.state_homes import StateHome, agents_config

STRUCTURED = "--structured"
READERS = (
    "memory_search",
    "memory_get",
    "memory_recall",
    "conversation_search",
    "conversation_read",
    "session_handoff",
)


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    """A daemon with two agents that have different notes."""
    with StateHome() as home:
        home.configure(agents_config(home.state, "work"))
        home.note("MEMORY.md", "# Memory\n\nThe staging gateway listens on 8443.\n")
        home.note("memory/2026-01-16.md", "# 2026-01-16\n\nMoved the release to Friday.\n")
        home.note("MEMORY.md", "# Work\n\nThe lease of the office ends in June.\n", "work")
        with DaemonProcess(home) as process:
            yield process


def call_once(daemon: DaemonProcess, tool: str, arguments: dict[str, Any], *options: str) -> Any:
    """Return the reply to one tool call."""
    return run_mcp_session(daemon, lambda session: session.call_tool(tool, arguments), *options)


def test_tool_descriptions_name_the_agents_and_their_memory(daemon: DaemonProcess) -> None:
    tools = run_mcp_session(daemon, lambda session: session.list_tools()).tools

    assert [tool.name for tool in tools] == [
        "memory_search",
        "memory_get",
        "memory_store",
        "memory_recall",
        "memory_forget",
        "memory_append_note",
        "conversation_search",
        "conversation_read",
        "session_handoff",
    ]
    assert {tool.name for tool in tools if tool.annotations.readOnlyHint} == set(READERS)
    assert [tool.name for tool in tools if tool.annotations.destructiveHint] == ["memory_forget"]
    for tool in tools:
        more = ["all"] if tool.name == "memory_search" else []
        assert tool.inputSchema["properties"]["agent"]["enum"] == ["main", "work", *more]
        assert all(each.get("description") for each in tool.inputSchema["properties"].values())
        assert tool.outputSchema is None


def test_search_reply_holds_its_text_once(daemon: DaemonProcess) -> None:
    found = call_once(daemon, "memory_search", {"query": "staging gateway", "maxResults": 3})

    assert not found.isError
    assert text_of(found).startswith("MEMORY.md#L1-L3  ")
    assert text_of(found).count("8443") == 1
    assert found.structuredContent is None


def test_structured_client_gets_text_and_data_that_fit_the_schema(daemon: DaemonProcess) -> None:
    async def steps(session: ClientSession) -> Any:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        found = await session.call_tool("memory_search", {"query": "staging gateway", "maxResults": 3})
        empty = await session.call_tool("memory_search", {"query": "xylophone"})
        return tools, found, empty  # the SDK's client checks each reply by its schema

    tools, found, empty = run_mcp_session(daemon, steps, STRUCTURED)

    assert all(tool.outputSchema for tool in tools.values())
    assert "8443" in text_of(found)
    [row] = found.structuredContent["results"]
    assert (row["path"], row["startLine"], row["endLine"]) == ("MEMORY.md", 1, 3)
    assert empty.structuredContent["results"] == []
    assert empty.structuredContent["reason"] == text_of(empty)


def test_search_without_hits_reports_it(daemon: DaemonProcess) -> None:
    found = call_once(daemon, "memory_search", {"query": "xylophone"})

    assert not found.isError
    assert text_of(found).startswith("No relevant results. Search for other words")


def test_get_returns_the_requested_lines(daemon: DaemonProcess) -> None:
    read = call_once(daemon, "memory_get", {"path": "memory/2026-01-16.md", "from": 3, "lines": 1})

    assert text_of(read) == "Moved the release to Friday."


def test_get_of_a_missing_file_or_lines_beyond_the_end_reports_it(daemon: DaemonProcess) -> None:
    async def steps(session: ClientSession) -> Any:
        missing = await session.call_tool("memory_get", {"path": "memory/2026-01-17.md"})
        return missing, await session.call_tool("memory_get", {"path": "MEMORY.md", "from": 40})

    missing, beyond = run_mcp_session(daemon, steps)

    assert not missing.isError
    assert text_of(missing) == "there is no memory/2026-01-17.md; did you mean memory/2026-01-16.md?"
    assert text_of(beyond) == "The file has 3 lines."


def test_fact_is_stored_recalled_and_forgotten(daemon: DaemonProcess) -> None:
    async def steps(session: ClientSession) -> Any:
        stored = await session.call_tool("memory_store", {"text": "Anna prefers answers in Czech."})
        twin = await session.call_tool("memory_store", {"text": "anna prefers answers in czech"})
        recalled = await session.call_tool("memory_recall", {"query": "Anna answers Czech"})
        assert stored.structuredContent is not None
        fact = stored.structuredContent["id"]
        forgotten = await session.call_tool("memory_forget", {"id": fact})
        gone = await session.call_tool("memory_forget", {"id": fact})
        return fact, stored, twin, recalled, forgotten, gone

    fact, stored, twin, recalled, forgotten, gone = run_mcp_session(daemon, steps, STRUCTURED)

    assert fact in text_of(stored)
    assert twin.structuredContent["stored"] is False
    assert f"Stored already as {fact}" in text_of(twin)
    assert [row["id"] for row in recalled.structuredContent["facts"]] == [fact]
    assert text_of(forgotten) == "Forgotten: Anna prefers answers in Czech."
    assert "nothing was removed" in text_of(gone)


def test_appended_note_is_in_the_reported_file(daemon: DaemonProcess) -> None:
    entry = {"text": "The migration took four minutes.", "date": "2026-02-03"}

    appended = call_once(daemon, "memory_append_note", entry)

    assert text_of(appended) == "Appended: memory/2026-02-03.md#L3-L3"
    note = daemon.home.workspace() / "memory" / "2026-02-03.md"
    assert note.read_text().splitlines()[2] == entry["text"]


def test_agent_argument_selects_another_agent(daemon: DaemonProcess) -> None:
    found = call_once(daemon, "memory_search", {"query": "lease of the office", "agent": "work"})

    assert "June" in text_of(found)


def test_search_of_all_agents_gives_the_agent_that_get_needs(daemon: DaemonProcess) -> None:
    async def steps(session: ClientSession) -> Any:
        query = {"query": "staging gateway lease office", "agent": "all"}
        found = await session.call_tool("memory_search", query)
        rows = (found.structuredContent or {})["results"]
        place = {"agent": "work", "path": next(row["path"] for row in rows if row["agent"] == "work")}
        read = await session.call_tool("memory_get", place)
        wrong = await session.call_tool("memory_search", {**query, "maxResults": 51})
        get = await session.call_tool("memory_get", {"path": "MEMORY.md", "agent": "all"})
        return found, read, wrong, get

    found, read, wrong, get = run_mcp_session(daemon, steps, STRUCTURED)

    answer = found.structuredContent
    assert {row["agent"] for row in answer["results"]} == {"main", "work"}
    assert (answer["mode"], [row["agent"] for row in answer["agents"]]) == ("keyword", ["main", "work"])
    assert "MEMORY.md#L1-L3  agent work" in text_of(found)
    assert "June" in text_of(read)
    assert (wrong.isError, get.isError) == (True, True)
    assert "a whole number from 1 to 50" in text_of(wrong)
    assert "agent_unknown" in text_of(get)


def test_unknown_agent_error_lists_the_known_agents(daemon: DaemonProcess) -> None:
    found = call_once(daemon, "memory_search", {"query": "lease", "agent": "nobody"})

    assert found.isError
    assert "agent_unknown" in text_of(found)
    assert "known agents: main, work" in text_of(found)


def test_single_agent_server_shows_no_other_agent(daemon: DaemonProcess) -> None:
    async def steps(session: ClientSession) -> Any:
        tools = (await session.list_tools()).tools
        own = await session.call_tool("memory_search", {"query": "lease of the office"})
        other = await session.call_tool("memory_search", {"query": "gateway", "agent": "main"})
        every = await session.call_tool("memory_search", {"query": "gateway lease", "agent": "all"})
        listed = (await session.list_resources()).resources
        return tools, own, other, every, listed

    tools, own, other, every, listed = run_mcp_session(daemon, steps, "--agent", "work")

    assert [tool.name for tool in tools if "agent" in tool.inputSchema["properties"]] == []
    assert "June" in text_of(own)
    assert other.isError
    assert "limited to the agent work" in text_of(other)
    assert "8443" not in text_of(other)
    assert every.isError
    assert "limited to the agent work" in text_of(every)
    assert "main" not in text_of(every)
    assert {str(each.uri).split("/")[2] for each in listed} == {"work"}


WRONG_CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("memory_search", {}, "`query` is missing"),
    ("memory_search", {"query": 7}, "`query` must be text"),
    ("memory_search", {"query": "  "}, "`query` must be text, not empty"),
    ("memory_search", {"query": "a", "maxResults": 0}, "a whole number from 1 to 50"),
    ("memory_search", {"query": "a", "depth": 2}, 'no argument "depth"'),
    ("memory_search", {"query": "a", "agent": 3}, "`agent` must be an agent's id"),
    ("memory_get", {"path": "/etc/passwd"}, "Expected: a path from memory_search"),
    ("memory_get", {"path": "../secret.md"}, "Expected: a path from memory_search"),
    ("memory_store", {"text": "x" * 4001}, "text of 1 to 4000 characters"),
    ("memory_store", {"text": "a", "category": "gossip"}, "one of preference, fact"),
    ("memory_forget", {}, "give `id` or `query`"),
    ("memory_append_note", {}, "`text` is missing"),
    ("memory_append_note", {"text": ["a"]}, "`text` must be text"),
    ("memory_append_note", {"text": " "}, "`text` must not be empty"),
    ("memory_append_note", {"text": "a", "date": "tomorrow"}, "a day as YYYY-MM-DD"),
    ("memory_append_note", {"text": "a", "key": "k"}, "no argument 'key'"),
    ("memory_delete", {}, "one of memory_search, memory_get"),
]
"""A tool, invalid arguments, and a part of the error that the reply must hold."""


def test_invalid_call_error_names_the_expected_arguments(daemon: DaemonProcess) -> None:
    async def steps(session: ClientSession) -> Any:
        return [await session.call_tool(tool, arguments) for tool, arguments, _ in WRONG_CALLS]

    answers = run_mcp_session(daemon, steps)

    said = [
        (text_of(answer), expected) for answer, (_, _, expected) in zip(answers, WRONG_CALLS, strict=True)
    ]
    assert [each for each in said if each[1] not in each[0]] == []
    assert all(answer.isError and answer.structuredContent is None for answer in answers)


def test_numbers_as_strings_are_accepted(daemon: DaemonProcess) -> None:
    found = call_once(
        daemon, "memory_search", {"query": "staging gateway", "maxResults": "2", "minScore": None}
    )

    assert "8443" in text_of(found)


def test_invisible_characters_are_escaped_in_the_text(daemon: DaemonProcess) -> None:
    daemon.home.note(
        "memory/hostile.md",
        "# Trick\n\nThe zebra password\u202e is\u200b hidden \U0001f469\u200d\U0001f4bb.\n",
    )

    found = call_once(daemon, "memory_search", {"query": "zebra password"}, STRUCTURED)

    assert "password\\u202e is\\u200b hidden \U0001f469\u200d\U0001f4bb" in text_of(found)
    assert "password\\u202e is" in found.structuredContent["results"][0]["snippet"]


def test_calls_without_an_agent_read_the_default_agent_and_the_shared_one() -> None:
    with StateHome() as home:
        home.note("MEMORY.md", "# Memory\n\nThe cormorant gateway listens on 8443.\n")
        folder = home.root / "vault"
        folder.mkdir()
        (folder / "birds.md").write_text("The cormorant dries its wings.\n")
        (home.root / "memd.toml").write_text(f'[sources.vault]\nagent = "shared"\npath = "{folder}"\n')
        with DaemonProcess(home) as process, process.client() as client:
            client.index(agent="shared")
            found = call_once(process, "memory_search", {"query": "cormorant"}, STRUCTURED)
            read = call_once(process, "memory_get", {"path": "vault/birds.md"})
            alone = call_once(process, "memory_search", {"query": "cormorant", "agent": "main"}, STRUCTURED)
    results = found.structuredContent["results"]
    assert {(row["agent"], row["path"]) for row in results} == {
        ("main", "MEMORY.md"),
        ("shared", "vault/birds.md"),
    }
    assert "dries its wings" in text_of(read)
    assert [row["path"] for row in alone.structuredContent["results"]] == ["MEMORY.md"]
