"""Metrics of a daemon and the commands that show them, also over a restart."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from memd_client.messages import MetricsReply
from tests.support.daemon import DaemonProcess
from tests.support.programs import Terminal
from tests.support.provider_faults import Fault
from tests.support.provider_server import serve_provider
from tests.support.state_homes import StateHome, agents_config


@pytest.fixture
def daemon() -> Iterator[DaemonProcess]:
    """A daemon with the agents `main` and `work`, and one note."""
    with StateHome() as home:
        home.configure(agents_config(home.state, "work"))
        home.workspace("work").mkdir()
        home.note("MEMORY.md", "# Lease\n\nThe lease ends in June.\n")
        with DaemonProcess(home) as process:
            yield process


def value(reply: MetricsReply, name: str, **labels: str) -> float:
    """Return one sample; 0 if it is missing."""
    found = [sample for each in reply.metrics if each.name == name for sample in each.samples]
    return sum(sample.value for sample in found if sample.labels == labels)


def observations(reply: MetricsReply, name: str) -> int:
    """Return the number of observations of a histogram."""
    return sum(
        sum(each.counts) for metric in reply.metrics if metric.name == name for each in metric.histograms
    )


def test_requests_and_syncs_are_counted(daemon: DaemonProcess) -> None:
    with daemon.client() as client:
        client.index()
        before = client.metrics()
        for _ in range(3):
            client.search("when does the lease end")
        daemon.home.note("memory/2026-05-08.md", "# Flat\n\nThe flat is dry.\n")
        assert client.search("flat", deadline_ms=10_000).hits

        after = client.metrics()

    def growth(name: str, **labels: str) -> float:
        return value(after, name, **labels) - value(before, name, **labels)

    assert growth("memd_requests_total", method="search", code="ok") == 4
    assert growth("memd_searches_total", agent="main", mode="keyword") == 4
    assert growth("memd_files_checked_total", agent="main", outcome="changed") == 1
    assert growth("memd_chunks_written_total", agent="main") == 1
    assert growth("memd_agent_files", agent="main") == 1
    assert value(after, "memd_agent_up", agent="work") == 1
    assert observations(after, "memd_request_seconds") > observations(before, "memd_request_seconds")
    assert observations(after, "memd_catch_up_seconds") >= observations(before, "memd_catch_up_seconds")


def test_commands_show_the_metrics(daemon: DaemonProcess) -> None:
    metrics, top, agents = (
        daemon.memctl("metrics"),
        daemon.memctl("top", "--json"),
        daemon.memctl("agents", "--json"),
    )

    assert 'memd_agent_files{agent="main"} 1\n' in metrics.stdout
    assert [row["agent"] for row in json.loads(top.stdout)["agents"]] == ["main", "work"]
    assert [row["state"] for row in json.loads(agents.stdout)["agents"]] == ["ready", "ready"]


@pytest.mark.parametrize(
    ("command", "key", "code"),
    [(("top",), b"q", 0), (("status", "--watch", "--verbose"), b"\x03", 130)],
    ids=["top", "status"],
)
def test_watching_command_survives_a_daemon_restart_and_ends_at_a_key(
    daemon: DaemonProcess, command: tuple[str, ...], key: bytes, code: int
) -> None:
    with Terminal(daemon, *command) as terminal:
        terminal.wait_for(f"pid {daemon.pid}")

        daemon.stop()
        terminal.wait_for("daemon not responding")

        daemon.start()
        terminal.wait_for(f"pid {daemon.pid}")

        terminal.press(key)
        assert terminal.wait_end() == code
        assert "Traceback" not in terminal.text


def test_new_vectors_and_keyword_fallbacks_are_counted() -> None:
    with StateHome() as home, serve_provider("ollama", dims=64) as server:
        remote = {"provider": "ollama", "remote": {"baseUrl": server.url}, "sync": {"watch": False}}
        home.configure(agents_config(home.state, memory_search=remote))
        home.note("MEMORY.md", "# Lease\n\nThe lease ends in June.\n")
        with DaemonProcess(home) as daemon, daemon.client() as client:
            client.index()
            client.search("lease")
            server.fault = Fault("server_error")
            client.search("another question about the lease")

            reply = client.metrics()

    assert value(reply, "memd_texts_embedded_total", agent="main") == 1
    assert value(reply, "memd_searches_total", agent="main", mode="hybrid") == 1
    assert value(reply, "memd_searches_degraded_total", code="provider_failed") == 1
