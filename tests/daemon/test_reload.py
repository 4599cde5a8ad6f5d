"""Settings that change while the daemon runs: applied at once, no failed search."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memd_client.errors import AgentUnknownError, MemdError
from memd_client.messages import AgentStatus
from tests.support.daemon import DaemonProcess
from tests.support.sockets import wait_until
from tests.support.state_homes import StateHome, agents_config

BY_WORDS: dict[str, Any] = {"provider": "none", "sync": {"watch": False}}


@pytest.fixture
def home() -> Iterator[StateHome]:
    """Two agents with a note each."""
    with StateHome() as home:
        home.configure(agents_config(home.state, "work", memory_search=BY_WORDS))
        home.note("memory/fruit.md", "apples are red\n\nplums are blue\n")
        home.note("memory/fruit.md", "pears are green\n", "work")
        yield home


def reload(daemon: DaemonProcess) -> dict[str, Any]:
    """Reload the daemon's settings; return the log event."""
    before = len(reloads(daemon))
    os.kill(daemon.pid, signal.SIGHUP)
    wait_until(lambda: len(reloads(daemon)) > before)
    return reloads(daemon)[-1]


def reloads(daemon: DaemonProcess) -> list[dict[str, Any]]:
    """Return the log events of changed settings."""
    return [event for event in daemon.events() if event["event"] == "config.reloaded"]


def agents_of(rows: list[AgentStatus]) -> list[str]:
    """Return the agents of a status."""
    return sorted(row.agent for row in rows)


def test_changed_setting_applies_without_a_restart_and_its_key_is_logged(home: StateHome) -> None:
    with DaemonProcess(home) as daemon, daemon.client() as client:
        assert len(client.search("apples plums pears").hits) == 1
        (home.workspace("main") / "memory" / "more.md").write_text("apples again\n")
        assert len(client.search("apples").hits) == 2

        search = BY_WORDS | {"query": {"maxResults": 1}}
        home.configure(agents_config(home.state, "work", memory_search=search))
        said = reload(daemon)

        assert said["keys"] == [
            "agents.main.search.query.maxResults",
            "agents.work.search.query.maxResults",
        ]
        assert said["agents"] == ["main", "work"]
        assert len(client.search("apples").hits) == 1


def test_changed_settings_file_is_noticed_without_a_signal(home: StateHome) -> None:
    with DaemonProcess(home) as daemon, daemon.client() as client:
        assert agents_of(client.status().agents) == ["main", "work"]

        home.note("memory/fruit.md", "quinces are yellow\n", "new")
        home.configure(agents_config(home.state, "work", "new", memory_search=BY_WORDS))

        wait_until(lambda: "new" in agents_of(client.status().agents))
        assert client.search("quinces", agent="new").hits
        assert reloads(daemon)[-1]["agents"] == ["new"]  # the other agents are unaffected


def test_removed_agent_is_closed_and_its_index_is_kept(home: StateHome) -> None:
    with DaemonProcess(home) as daemon, daemon.client() as client:
        assert client.search("pears", agent="work").hits

        home.configure(agents_config(home.state, memory_search=BY_WORDS))
        reload(daemon)

        with pytest.raises(AgentUnknownError):
            client.search("pears", agent="work")
        assert (home.state / "memory" / "work.memd.sqlite").exists()
        assert client.search("apples").hits

        home.configure(agents_config(home.state, "work", memory_search=BY_WORDS))
        reload(daemon)
        assert client.search("pears", agent="work").hits


@pytest.mark.parametrize(
    "broken", ["{ oops", '{"agents": {"defaults": {"memorySearch": {"query": {"maxResults": "many"}}}}}']
)
def test_invalid_settings_are_reported_and_the_last_valid_ones_stay(home: StateHome, broken: str) -> None:
    with DaemonProcess(home) as daemon, daemon.client() as client:
        home.configure(agents_config(home.state, memory_search=BY_WORDS | {"query": {"maxResults": 1}}))
        reload(daemon)
        home.note("memory/more.md", "apples again\n")

        home.configure(broken)
        reload(daemon)

        assert "config_invalid" in {problem.code for problem in client.status().problems}
        assert len(client.search("apples").hits) == 1

        home.configure(agents_config(home.state, memory_search=BY_WORDS))
        reload(daemon)
        assert client.status().problems == []
        assert len(client.search("apples").hits) == 2


def test_daemon_settings_change_and_those_that_need_a_restart_are_reported(home: StateHome) -> None:
    own = home.root / "memd.toml"
    with DaemonProcess(home) as daemon, daemon.client() as client:
        own.write_text('log_level = "debug"\ndaily_token_budget = 5\nsocket = "/tmp/elsewhere.sock"\n')
        said = reload(daemon)

        assert said["keys"] == ["memd.socket", "memd.log_level", "memd.daily_token_budget"]
        assert client.status().token_budget == 5
        needing = [event for event in daemon.events() if event["event"] == "config.needs_restart"]
        assert [event["keys"] for event in needing] == [["socket"]]

        own.write_text('log_level = "debug"\ndaily_token_budget = "many"\n')
        reload(daemon)
        assert client.status().token_budget == 5
        assert any("daily_token_budget" in problem.message for problem in client.status().problems)

        own.write_text("log_level = [")
        reload(daemon)
        assert client.status().token_budget == 5
        assert any("memd.toml" in problem.message for problem in client.status().problems)


def test_memory_settings_of_one_agent_change_without_affecting_others(
    home: StateHome,
) -> None:
    own = home.root / "memd.toml"
    home.note("memory/more.md", "apples again\n")
    with DaemonProcess(home) as daemon, daemon.client() as client:
        own.write_text("[search.query]\nmaxResults = 1\n")
        assert reload(daemon)["agents"] == ["main", "work"]
        assert len(client.search("apples").hits) == 1

        own.write_text("[search.query]\nmaxResults = 1\n[agents.main.search.query]\nmaxResults = 2\n")
        said = reload(daemon)
        assert (said["keys"], said["agents"]) == (["agents.main.search.query.maxResults"], ["main"])
        assert len(client.search("apples").hits) == 2

        own.write_text("[agents.main.search.query]\nmaxResults = 'many'\n")
        reload(daemon)
        problems = client.status().problems + client.status().agents[0].problems
        assert any("memd.toml: agents.main.search.query.maxResults" in each.message for each in problems)
        assert len(client.search("apples").hits) == 2


def test_searches_succeed_while_settings_change_repeatedly(home: StateHome) -> None:
    with DaemonProcess(home) as daemon:
        failures: list[str] = []
        asked = [0]
        stop = threading.Event()

        def ask() -> None:
            with daemon.client() as client:
                while not stop.is_set():
                    try:
                        if not client.search("apples").hits:
                            failures.append("nothing found")
                    except MemdError as error:
                        failures.append(error.code)
                    asked[0] += 1

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for most in range(1, 9):
                search = BY_WORDS | {"query": {"maxResults": most}}
                home.configure(agents_config(home.state, "work", memory_search=search))
                reload(daemon)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert failures == []
        assert asked[0] > 20
        assert descriptors_of(daemon, home.state / "memory" / "main.memd.sqlite") <= 4


def descriptors_of(daemon: DaemonProcess, file: Path) -> int:
    """Return the number of a process's descriptors of a file."""
    names = []
    for entry in Path(f"/proc/{daemon.pid}/fd").iterdir():
        try:
            names.append(os.readlink(entry))
        except OSError:
            continue
    return names.count(str(file))
