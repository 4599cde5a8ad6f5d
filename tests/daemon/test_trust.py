"""Whose words are found: the filter by origin through the daemon, the command line and MCP."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from mcp import ClientSession

from memd_client import Client
from memd_client.errors import BadParamsError
from tests.support.daemon import DaemonProcess
from tests.support.mcp_session import run_mcp_session
from tests.support.state_homes import KEYWORD_ONLY, StateHome
from tests.support.transcript_programs.plain import claude_code

ASKED = "Which queue carries the heron invoices?"
ANSWERED = "The heron invoices go through the queue relay-7 since March."


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    """A daemon with a note, a conversation in which the user and the agent speak, and work in it."""
    with StateHome(KEYWORD_ONLY) as home:
        user = home.root / "user"
        user.mkdir()
        writer = claude_code(user)
        session = "0199a213-81c4-7000-8000-000000000001"
        writer.append(session, "user", ASKED)
        writer.append(session, "assistant", ANSWERED)
        writer.append(session, "user", "Then pause the heron invoices until Monday.")
        home.note("MEMORY.md", "# Memory\n\nHeron invoices are sent by the billing host.\n")
        (home.root / "memd.toml").write_text("[sources.claude-code]\n")
        with DaemonProcess(home, {"HOME": str(user), "CLAUDE_CONFIG_DIR": ""}) as daemon:
            with daemon.client() as client:
                client.index()
            yield daemon


@pytest.fixture
def client(daemon: DaemonProcess) -> Iterator[Client]:
    """A client of the daemon."""
    with daemon.client() as client:
        yield client


def test_filter_by_user_shows_what_the_user_said_without_the_answer(client: Client) -> None:
    [hit] = client.search("heron invoices queue", origins=["user"]).hits

    assert hit.origin == "user"
    assert "relay-7" not in hit.snippet
    assert hit.snippet.startswith("User: ")
    assert hit.start_line == hit.end_line


def test_filter_by_agent_shows_the_answer_and_the_note_without_the_question(client: Client) -> None:
    hits = client.search("heron invoices queue", origins=["agent"]).hits

    assert {hit.origin for hit in hits} == {"agent"}
    assert len(hits) == 2
    assert not any("User:" in hit.snippet for hit in hits)


def test_filter_by_all_origins_shows_the_conversation_whole(client: Client) -> None:
    hits = client.search("heron invoices queue", origins=["user", "agent"]).hits

    assert any(ASKED in hit.snippet and ANSWERED in hit.snippet for hit in hits)


def test_filter_of_conversations_returns_only_lines_of_the_origin(client: Client) -> None:
    [found] = client.conversation_search("heron invoices queue", origins=["user"]).conversations

    assert all("relay-7" not in excerpt.text for excerpt in found.excerpts)
    assert client.conversation_search("heron invoices queue", origins=["outside"]).conversations == []


def test_work_is_of_programs_and_has_no_hit_of_another_origin(client: Client) -> None:
    assert client.search("heron", kinds=["work"], origins=["user"]).hits == []


def test_search_without_a_hit_explains_the_filter(client: Client, daemon: DaemonProcess) -> None:
    empty = client.search("heron invoices", origins=["outside"]).empty

    assert empty is not None
    assert "outside" in empty.message
    shown = daemon.memctl("search", "--origin", "outside", "heron invoices")
    assert "search without --origin" in shown.stdout.lower()


def test_unknown_origin_is_refused(client: Client, daemon: DaemonProcess) -> None:
    with pytest.raises(BadParamsError, match="user, agent, program, outside"):
        client.search("heron", origins=["friend"])
    assert (
        "user, agent, program, outside" in daemon.memctl("search", "--origin", "user,friend", "heron").stderr
    )


def test_command_line_takes_several_origins_at_once_and_in_turn(daemon: DaemonProcess) -> None:
    joined = daemon.memctl("search", "--json", "--origin", "user,agent", "heron invoices queue")
    repeated = daemon.memctl(
        "search", "--json", "--origin", "user", "--origin", "agent", "heron invoices queue"
    )

    hits = json.loads(joined.stdout)["hits"]
    assert {hit["origin"] for hit in hits} == {"agent"}
    assert [hit["citation"] for hit in hits] == [
        hit["citation"] for hit in json.loads(repeated.stdout)["hits"]
    ]


def test_mcp_search_takes_an_origin_for_one_agent_and_for_all(daemon: DaemonProcess) -> None:
    texts = list[str]()

    async def ask(session: ClientSession) -> None:
        for agent in ({}, {"agent": "all"}):
            arguments = {"query": "heron invoices queue", "origin": "user", **agent}
            result = await session.call_tool("memory_search", arguments)
            texts.append(result.content[0].text)  # type: ignore[union-attr]

    run_mcp_session(daemon, ask)

    assert all("User: " in text and "relay-7" not in text for text in texts)
