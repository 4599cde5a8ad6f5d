"""The list of conversations through the whole daemon: newest first, in pages, by source, project, time and title."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memd_client import Client
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome
from tests.support.transcript_programs.plain import CWD, claude_code, codex
from tests.support.transcripts import TranscriptHome, conversation

SEARCH = {
    "provider": "none",
    "sources": ["memory", "sessions"],
    "experimental": {"sessionMemory": True},
    "sync": {"watch": False},
}
LATEST, EARLIER, RETAINED = (f"0199a213-81c4-7000-8000-{number:012}" for number in range(3))
OSPREY = "Question 0 of s1 about the osprey"
HOOK = f"sh -c 'x' {shlex.quote(__file__)} -I -S /opt/lib/memd_client/hook.py claude-code prompt"


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """A client of a daemon with conversations of Claude Code, of Codex (one deleted there) and of OpenClaw."""
    with StateHome({"agents": {"defaults": {"memorySearch": SEARCH}}}) as home:
        user = home.root / "user"
        user.mkdir()
        claude, other = claude_code(user), codex(user)
        for session, prompt in ((EARLIER, "Plan the ferry timetable"), (LATEST, "Größe der Retries")):
            claude.append(session, "user", prompt)
        claude.append(LATEST, "assistant", "Three.")
        other.append(RETAINED, "user", "Retries of the order mails")
        TranscriptHome(home.state).write_file("s1", conversation("s1", 2, "about the osprey"))
        settings = user / ".claude" / "settings.json"
        hooks = {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": HOOK}]}]}
        settings.write_text(json.dumps({"hooks": hooks}))
        (user / ".codex" / "config.toml").write_text(
            '[mcp_servers.memd]\ncommand = "memctl"\nargs = ["mcp", "--agent", "main"]\n'
        )
        toml = "[sources.claude-code]\n[sources.codex]\nkeep = true\n"
        (home.root / "memd.toml").write_text(f'exclude = ["secret"]\n{toml}')
        environment = {"HOME": str(user), "CODEX_HOME": "", "CLAUDE_CONFIG_DIR": ""}
        with DaemonProcess(home, environment) as daemon, daemon.client() as client:
            client.index()
            other.delete(RETAINED)
            client.index()
            yield client


def titles(client: Client, **filters: Any) -> list[str]:
    """Return the titles of the conversations that fit."""
    reply = client.conversations(**filters)
    assert reply.total == len(reply.conversations)
    return [each.session.title for each in reply.conversations]


def test_list_has_the_newest_conversation_first_with_all_that_a_row_shows(client: Client) -> None:
    reply = client.conversations()
    last, first, *_ = reply.conversations  # OpenClaw's file was just written

    assert (first.session.program, first.session.title, first.messages) == (
        "claude-code",
        "Größe der Retries",
        2,
    )
    assert (first.session.project, first.session.date) == (CWD, "2026-11-02")
    assert LATEST in first.session.open
    assert first.path == f"claude-code/{LATEST}"
    assert [each.updated_ms for each in reply.conversations] == sorted(
        (each.updated_ms for each in reply.conversations), reverse=True
    )
    assert (last.session.program, last.session.title, last.messages) == ("sessions", OSPREY, 4)
    assert client.conversation_read(last.path, first=1).messages[0].text.startswith("Question 0")
    (deleted,) = (each for each in reply.conversations if each.session.deleted)
    assert deleted.path == f"codex/{RETAINED}"


def test_list_names_all_sources_and_projects_whatever_is_filtered(client: Client) -> None:
    for reply in (client.conversations(), client.conversations(title="nothing has this title")):
        assert {each.name: (each.title, each.conversations) for each in reply.sources} == {
            "claude-code": ("Claude Code", 2),
            "codex": ("Codex", 1),
            "sessions": ("OpenClaw", 1),
        }
        assert [(each.name, each.title, each.conversations) for each in reply.projects] == [(CWD, "shop", 3)]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"sources": ["codex"]}, ["Retries of the order mails"]),
        ({"title": "retries mails"}, ["Retries of the order mails"]),
        ({"title": "GRÖSSE"}, ["Größe der Retries"]),
        ({"project": "shop", "title": "ferry"}, ["Plan the ferry timetable"]),
        ({"project": CWD, "title": "ferry"}, ["Plan the ferry timetable"]),
        ({"project": "bakery"}, []),
        ({"since": "2026-11-03"}, [OSPREY]),
        ({"until": "2026-11-01"}, []),
        ({"since": "2026-11-01", "until": "2026-11-03", "title": "ferry"}, ["Plan the ferry timetable"]),
    ],
)
def test_list_has_only_what_fits_all_filters(
    client: Client, filters: dict[str, Any], expected: list[str]
) -> None:
    assert titles(client, **filters) == expected


def test_pages_of_the_list_are_the_whole_list(client: Client) -> None:
    whole = client.conversations()
    pages = [client.conversations(offset=offset, limit=1) for offset in range(whole.total + 1)]

    assert [row for page in pages for row in page.conversations] == whole.conversations
    assert {page.total for page in pages} == {4}


def test_search_until_a_day_leaves_out_what_was_said_later(client: Client) -> None:
    assert client.search("retries", until="2026-11-01").hits == []
    assert client.search("retries", since="2026-11-02", until="2026-11-02").hits != []
    assert client.search_agents("retries", until="2026-11-01").hits == []


def test_sources_name_the_programs_that_are_given_memory_and_of_which_agent(client: Client) -> None:
    reply = client.sources()
    programs = {(each.program, each.way): each for each in reply.programs}

    hook = programs["claude-code", "hooks"]
    assert (hook.title, hook.agents) == ("Claude Code", ["main"])
    assert (hook.state, hook.problem) == ("command missing", "there is no /opt/lib/memd_client/hook.py")
    server = programs["codex", "mcp"]
    assert (server.state, server.agents) == ("installed", ["main"])
    assert Path(server.path).name == "config.toml"
    assert programs["gemini", "hooks"].state == "not installed"
    assert programs["gemini", "hooks"].agents == []
    assert reply.excluded == ["secret"]
