"""The log of recalls with a real daemon: every way appears, and restarts, kills, clearing and the setting work."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import ClientSession

from memd_client import Client
from tests.support.daemon import DaemonProcess
from tests.support.mcp_session import run_mcp_session
from tests.support.sockets import wait_until
from tests.support.state_homes import KEYWORD_ONLY, StateHome, agents_config
from tests.support.transcript_programs.opencode import V1, OpencodeWriter

SHOP = "/home/eva/shop"
QUERY = "cormorant gateway port"
MISSING = "zanzibarquux retention policy"


@pytest.fixture
def home() -> Iterator[StateHome]:
    """A home with a note, a fact to recall, and a conversation in opencode's database."""
    with StateHome(KEYWORD_ONLY) as state:
        state.note("MEMORY.md", "# Memory\n\nThe cormorant gateway of staging listens on port 8443.\n")
        state.note("memory/2026-01-16.md", "# 2026-01-16\n\nMoved the release to Friday.\n")
        (state.root / "memd.toml").write_text("[sources.opencode]\n")
        yield state


def log_file(home: StateHome) -> Path:
    """Return the newer file of the log."""
    return home.state / "memory" / "recalls.jsonl"


def served(home: StateHome) -> DaemonProcess:
    """Return a daemon that isn't started yet, with a home folder of its own."""
    return DaemonProcess(home, {"HOME": str(home.root / "user")})


def ways(client: Client) -> set[tuple[str, str]]:
    """Return programs and ways of all logged recalls."""
    return {(day.program, day.way) for day in client.usage().days}


async def ask_over_mcp(session: ClientSession) -> None:
    """Call two tools."""
    await session.call_tool("memory_search", {"query": QUERY})
    await session.call_tool("conversation_search", {"query": QUERY})


def test_every_way_of_recalling_is_logged_and_kept_by_a_restart(home: StateHome) -> None:
    with served(home) as daemon:
        with daemon.client(client_name="my-script") as client:
            client.index()
            client.search(QUERY)
            client.search_agents(QUERY, caller="notebook")
            client.conversation_search(QUERY)
            client.call_tool("memory_search", {"query": QUERY}, session_key="agent:main:main")
            client.hook(
                "codex", "prompt", "s1", cwd=SHOP, prompt="what is the cormorant gateway's port on staging?"
            )
            client.session_started("agent:main:main")
        assert daemon.memctl("search", QUERY).returncode == 0
        run_mcp_session(daemon, ask_over_mcp)
        with daemon.client() as client:
            expected = {
                ("my-script", "search"),
                ("notebook", "search"),
                ("my-script", "tool"),
                ("codex", "prompt"),
                ("my-script", "start"),
                ("memctl", "search"),
                ("mcp", "mcp"),
            }
            assert ways(client) == expected
            assert client.usage().often[0].path == "MEMORY.md"
            assert [row.file.path for row in client.usage().never] == ["memory/2026-01-16.md"]
        assert stat.S_IMODE(log_file(home).stat().st_mode) == 0o600
    with served(home) as daemon, daemon.client() as client:
        assert ways(client) == expected
        assert client.hook_log().entries[0].prompt.startswith("what is the cormorant")


def test_a_kill_loses_the_last_batch_at_most(home: StateHome) -> None:
    daemon = served(home)
    with daemon:
        with daemon.client() as client:
            client.search(QUERY)
            wait_until(lambda: log_file(home).exists() and QUERY in log_file(home).read_text())
            client.search("lost by the kill")
        daemon.kill()
    with log_file(home).open("ab") as file:
        file.write(b'\n{"id":5,"way":"sea')  # a batch that the kill cut off
    with served(home) as daemon, daemon.client() as client:
        client.search(MISSING)

        assert client.usage().recalls in (2, 3)
        assert [row.query for row in client.usage().unanswered][-1] == MISSING


def test_queries_without_a_strong_hit_are_grouped_with_their_programs(home: StateHome) -> None:
    with served(home) as daemon, daemon.client(client_name="one") as client:
        client.search(MISSING)
        client.search("the zanzibarquux retention policies?", caller="two")
        client.search(QUERY)

        [row] = client.usage().unanswered
        shown = daemon.memctl("usage").stdout
        samples = next(each.samples for each in client.metrics().metrics if each.name == "memd_recalls_total")

    assert (row.query, row.count, row.programs) == ("the zanzibarquux retention policies?", 2, ["two", "one"])
    assert "asked and not found" in shown
    assert "zanzibarquux" in shown
    assert {(each.labels["way"], each.labels["outcome"]): each.value for each in samples} == {
        ("search", "none"): 2,
        ("search", "strong"): 1,
    }


def test_clearing_and_resetting_delete_entries_and_the_setting_deletes_the_file(home: StateHome) -> None:
    with served(home) as daemon, daemon.client() as client:
        client.search(QUERY)
        assert client.usage("clear").cleared == 1
        assert client.usage().recalls == 0
        client.search(QUERY)
        assert client.usage().recalls == 1
        client.reset()
        assert client.usage().recalls == 0
        client.search(QUERY)
    (home.root / "memd.toml").write_text("recall_log = false\n")
    assert log_file(home).exists()
    with served(home) as daemon, daemon.client() as client:
        wait_until(lambda: not log_file(home).exists())
        client.search(QUERY)

        assert (client.usage().is_on, client.usage().recalls) == (False, 0)
        assert "recall_log = false" in daemon.memctl("usage").stderr
    assert not log_file(home).exists()


def test_entries_of_a_removed_agent_are_deleted(home: StateHome) -> None:
    home.configure(agents_config(home.state, "work"))
    home.note("MEMORY.md", "The heron queue retries seven times.\n", "work")
    with served(home) as daemon, daemon.client() as client:
        client.index()
        client.search("heron queue", agent="work")
        client.search(QUERY, agent="main")
        assert client.usage().recalls == 2
        home.configure(agents_config(home.state))

        wait_until(lambda: log_file(home).exists() and b"heron" not in log_file(home).read_bytes())

        assert [row.path for row in client.usage().often] == ["MEMORY.md"]


def test_an_answer_that_repeats_what_a_hook_added_is_likely_used(home: StateHome) -> None:
    database = home.root / "user" / ".local/share/opencode/opencode.db"
    with OpencodeWriter(database, V1) as program, served(home) as daemon, daemon.client() as client:
        client.index()
        prompt = "what is the cormorant gateway's port on staging?"
        assert client.hook("opencode", "prompt", "ses_1", cwd=SHOP, prompt=prompt).decision == "injected"
        assert client.usage().days[0].judged == 0
        now = client.usage().often[0].last_ms
        program.session("ses_1", directory=SHOP)
        program.v1("ses_1", "user", prompt, at_ms=now)
        program.v1("ses_1", "assistant", "It listens on port 8443.", at_ms=now + 5_000)
        client.index()

        [day] = client.usage().days
        again = client.usage().days

    assert (day.program, day.judged, day.likely_used) == ("opencode", 1, 1)
    assert again == [day]
