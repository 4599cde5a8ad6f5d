"""Clients and `memctl` with the daemon of another machine: a real sshd on loopback."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memd.rpc.limits import Limits
from memd_client import Client
from memd_client.errors import (
    ConnectionLostError,
    DaemonStartError,
    DaemonUnreachableError,
    HostAuthError,
    HostCommandError,
    HostUnreachableError,
    MemdError,
)
from tests.contracts.client_daemon import DaemonContract, contract_daemon
from tests.support.blocking_clients import BlockingAsyncioClient, BlockingTrioClient
from tests.support.daemon import DaemonProcess
from tests.support.processes import children, open_descriptors
from tests.support.programs import TerminalProgram, programs
from tests.support.sockets import ServerThread, wait_until
from tests.support.sshd import SshServer
from tests.support.state_homes import KEYWORD_ONLY, StateHome
from tests.support.tree import DOCS

CLIENTS: dict[str, Any] = {"blocking": Client, "asyncio": BlockingAsyncioClient, "trio": BlockingTrioClient}

SEARCHES = 50

MEMCTL = [sys.executable, "-c", "from memd.cli.main import main; main()"]


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    with contract_daemon() as running:
        yield running


@pytest.fixture(autouse=True)
def host(sshd: SshServer, daemon: DaemonProcess, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The host's name; `memctl` there uses the daemon and must not start another."""
    for name, value in sshd.environ.items():
        monkeypatch.setenv(name, value)
    use(sshd, daemon.home.socket)
    sshd.reset_config()
    yield sshd.host
    wait_until(lambda: sshd.connections() == 0)


def use(sshd: SshServer, socket: Path, **environ: str) -> None:
    """Let the host's `memctl` use a socket, without starting a daemon."""
    sshd.use({"MEMD_SOCKET": str(socket), "MEMD_AUTOSTART": "0", **environ})


class HostContract(DaemonContract):
    """The contract of clients, over ssh."""

    kind: Any

    def make_client(self, path: Path, **options: Any) -> Any:
        return self.kind(host=SshServer.host, **options)


class TestHostWithBlockingClient(HostContract):
    kind = Client


class TestHostWithAsyncioClient(HostContract):
    kind = BlockingAsyncioClient


class TestHostWithTrioClient(HostContract):
    kind = BlockingTrioClient


@pytest.fixture
def server(sshd: SshServer, short_path: Path) -> Iterator[ServerThread]:
    """A server with fake agents that the host's `memctl` uses."""
    use(sshd, short_path / "s")
    with ServerThread(short_path / "s") as running:
        yield running


def memctl(daemon: DaemonProcess, *arguments: str) -> str:
    """Return what a successful `memctl` prints, notes included."""
    ran = daemon.memctl(*arguments, environ={"MEMD_SSH": os.environ["MEMD_SSH"]})
    assert ran.returncode == 0, ran.stderr
    return ran.stdout + ran.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("get", "MEMORY.md"),
        ("get", "MEMORY.md:3-3"),
        ("agents",),
        ("facts", "list"),
        ("model", "list", "--json"),
        ("index", "--json"),
    ],
    ids=" ".join,
)
def test_memctl_prints_the_same_for_a_host(
    daemon: DaemonProcess, host: str, arguments: tuple[str, ...]
) -> None:
    remote = memctl(daemon, "--host", host, *arguments)
    local = memctl(daemon, *arguments)

    assert remote.split("took_ms")[0] == local.split("took_ms")[0]


def test_searches_of_a_host_return_the_hits_of_its_daemon(daemon: DaemonProcess, host: str) -> None:
    with daemon.client() as local, Client(host=host) as remote:
        assert remote.search("staging gateway port").hits == local.search("staging gateway port").hits
        assert remote.get("MEMORY.md") == local.get("MEMORY.md")
        assert remote.hello() == local.hello()
    assert "4711" in memctl(daemon, "--host", host, "search", "staging", "gateway")


def test_program_of_the_page_searches_on_the_host(sshd: SshServer, daemon: DaemonProcess) -> None:
    (program,) = programs(DOCS / "remote-host.md", "python").values()
    sshd.reset_config(name="server")

    ran = daemon.run("-c", program, environ=sshd.environ)

    assert (ran.stderr, ran.returncode) == ("", 0)
    assert "The staging gateway listens on port 4711." in ran.stdout


def test_note_for_a_host_is_in_its_workspace(daemon: DaemonProcess, host: str) -> None:
    added = memctl(daemon, "--host", host, "note", "the lease was renewed")
    place = added.removeprefix("added to ")
    path = daemon.home.workspace() / place.partition(":")[0]
    try:
        assert "the lease was renewed" in path.read_text()
        assert memctl(daemon, "get", place.strip()) == memctl(daemon, "--host", host, "get", place.strip())
    finally:
        path.unlink()


@pytest.mark.parametrize("kind", CLIENTS)
def test_one_ssh_serves_all_requests_of_a_client(sshd: SshServer, host: str, kind: str) -> None:
    before, logins = children(), sshd.logins()
    with CLIENTS[kind](host=host) as client:
        for number in range(SEARCHES):
            assert client.search(f"Word{number}").hits
        assert len(children()) == len(before) + 1
        assert sshd.logins() == logins + 1


@pytest.mark.parametrize("kind", CLIENTS)
def test_lost_connection_is_reported_and_replaced_by_the_next_request(
    sshd: SshServer, server: ServerThread, host: str, kind: str
) -> None:
    with CLIENTS[kind](host=host) as client:
        with client.subscribe() as events:
            sshd.stop()
            with pytest.raises(ConnectionLostError, match=f"the connection to {host} ended"):
                next(events)
        with pytest.raises(HostUnreachableError, match="refuses connections"):
            client.search("x")
        sshd.start()
        assert client.search("x").hits
        assert client.search("y").hits
        assert sshd.logins() == 1


@pytest.mark.parametrize("kind", CLIENTS)
def test_search_during_the_loss_of_a_connection_is_sent_again(
    sshd: SshServer, server: ServerThread, host: str, kind: str
) -> None:
    def restart() -> None:
        server.wait_until(lambda: server.memory.main.waiting == 1)
        sshd.stop()
        server.memory.main.hang_search = False
        sshd.start()

    server.memory.main.hang_search = True
    with CLIENTS[kind](host=host, connect_timeout_s=60) as client:
        client.hello()
        restarting = threading.Thread(target=restart)
        restarting.start()
        with contextlib.suppress(
            HostUnreachableError
        ):  # sshd may still be down when the client connects again
            client.search("x")
        restarting.join()
        assert client.search("y").hits


@pytest.mark.parametrize("kind", CLIENTS)
def test_connection_closed_as_idle_is_replaced_by_the_next_request(
    sshd: SshServer, short_path: Path, host: str, kind: str
) -> None:
    use(sshd, short_path / "s")
    limits = Limits(idle_s=0.5)
    with ServerThread(short_path / "s", limits=limits) as server, CLIENTS[kind](host=host) as client:
        client.search("x")
        server.wait_until(lambda: server.daemon.open_connections == 0)
        wait_until(lambda: sshd.connections() == 0)

        assert client.search("y").hits


def _missing_memctl(sshd: SshServer) -> None:
    sshd.memctl.unlink()


def _old_memctl(sshd: SshServer) -> None:
    code = "from memd.cli.main import COMMANDS, main; del COMMANDS['stdio']; main()"
    sshd.memctl.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{code}" "$@"\n')


def _noise(sshd: SshServer) -> None:
    sshd.memctl.write_text("#!/bin/sh\necho welcome to this machine\nexec sleep 600\n")


FAULTS: dict[str, tuple[Callable[[SshServer], object], type[MemdError], str]] = {
    "wrong port": (lambda sshd: sshd.reset_config(Port=1), HostUnreachableError, "Connection refused"),
    "unknown name": (
        lambda sshd: sshd.reset_config(HostName="host.invalid"),
        HostUnreachableError,
        "Could not resolve hostname",
    ),
    "unknown host key": (
        lambda sshd: (sshd.root / "known_hosts").write_text(""),
        HostAuthError,
        "does not know the host key",
    ),
    "changed host key": (lambda sshd: sshd.trust_other_key(), HostAuthError, "is not the key that ssh knows"),
    "refused key": (
        lambda sshd: sshd.reset_config(IdentityFile=sshd.root / "other_key"),
        HostAuthError,
        "Permission denied",
    ),
    "invalid configuration": (
        lambda sshd: sshd.reset_config(Ciphers="none-such"),
        HostUnreachableError,
        "ssh can't connect to",
    ),
    "no memctl": (_missing_memctl, HostCommandError, "memctl can't be run on"),
    "old memctl": (_old_memctl, HostCommandError, "memctl on memd-test-host is too old"),
    "text of a shell": (_noise, HostCommandError, "not memd's protocol"),
    "no daemon": (
        lambda sshd: use(sshd, Path("/nowhere/memd.sock")),
        DaemonUnreachableError,
        "memd-test-host: no daemon listens at /nowhere/memd.sock",
    ),
}
"""A fault of a host, the error, and a part of its message."""


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_of_a_host_is_an_error_with_its_cause_and_a_hint(
    sshd: SshServer, host: str, fault: str
) -> None:
    cause, kind, part = FAULTS[fault]
    cause(sshd)

    with Client(host=host) as client, pytest.raises(MemdError) as caught:
        client.hello()

    assert type(caught.value) is kind
    assert part in caught.value.message
    assert host in caught.value.message + caught.value.hint


@pytest.mark.parametrize("kind", ["asyncio", "trio"])
@pytest.mark.parametrize("fault", ["wrong port", "refused key", "no memctl", "no daemon", "text of a shell"])
def test_clients_of_event_loops_raise_the_same_errors(
    sshd: SshServer, host: str, kind: str, fault: str
) -> None:
    cause, error, part = FAULTS[fault]
    cause(sshd)

    with CLIENTS[kind](host=host) as client, pytest.raises(error, match=part):
        client.hello()


def test_memctl_shows_the_error_of_a_host(sshd: SshServer, daemon: DaemonProcess, host: str) -> None:
    sshd.memctl.unlink()

    ran = daemon.memctl("--host", host, "status", environ=sshd.environ)

    assert (ran.returncode, ran.stdout) == (1, "")
    assert "install memd on memd-test-host, or name its `memctl` in MEMD_HOST_COMMAND" in ran.stderr
    assert ran.stderr.endswith("code: host_command_failed\n")


def test_command_of_the_variable_runs_on_the_host(
    sshd: SshServer, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sshd.memctl.rename(sshd.root / "my memctl")
    monkeypatch.setenv("MEMD_HOST_COMMAND", f"'{sshd.root}/my memctl' stdio")

    with Client(host=host) as client:
        assert client.search("staging gateway port").hits


def test_program_in_the_home_of_the_host_is_found(sshd: SshServer, host: str) -> None:
    folder = sshd.root / "home" / ".local" / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    program = sshd.memctl.rename(folder / "memctl")
    try:
        with Client(host=host) as client:
            assert client.hello().pid
    finally:
        program.unlink()


def test_host_starts_its_daemon(sshd: SshServer, host: str) -> None:
    with StateHome(KEYWORD_ONLY) as home:
        home.note("MEMORY.md", "The gate has the code kestrel-12.\n")
        sshd.use(home.environ())
        with Client(host=host) as client:
            assert client.search("kestrel-12").hits
            pid = client.hello().pid
        os.kill(pid, signal.SIGTERM)


def test_daemon_that_does_not_start_on_the_host_is_reported(sshd: SshServer, host: str) -> None:
    with StateHome(KEYWORD_ONLY) as home:
        home.socket.parent.mkdir(mode=0o700)
        home.socket.with_name("memd.sock.lock").mkdir()
        sshd.use(home.environ())

        with Client(host=host) as client, pytest.raises(DaemonStartError) as caught:
            client.hello()

    assert caught.value.message.startswith(f"{host}: the daemon ended with status")
    assert caught.value.hint.startswith(f"on {host}: ")


@pytest.mark.parametrize("kind", CLIENTS)
def test_closed_and_failed_clients_leave_no_process_and_no_descriptor(
    sshd: SshServer, host: str, kind: str
) -> None:
    def state() -> tuple[int, list[str]]:
        return open_descriptors(), children()

    running = children()
    with CLIENTS[kind](host=host) as client:  # what a first use opens for good
        client.hello()
    wait_until(lambda: children() == running)
    before = state()

    for _ in range(3):
        with CLIENTS[kind](host=host) as client:
            client.hello()
            assert state() != before
        sshd.reset_config(Port=1)
        with CLIENTS[kind](host=host) as client, pytest.raises(HostUnreachableError):
            client.hello()
        sshd.reset_config()

    wait_until(lambda: state() == before)


@pytest.mark.parametrize("kind", CLIENTS)
def test_frames_of_megabytes_pass_in_both_directions(server: ServerThread, host: str, kind: str) -> None:
    with CLIENTS[kind](host=host) as client:
        assert len(client.search("big 6000000").hits[0].snippet) == 6_000_000
        assert client.embed(["é" * 3_000_000, "b"]).count == 2
        assert client.search("big 1000").hits


def test_ctrl_c_ends_memctl_and_ssh(sshd: SshServer, server: ServerThread, host: str) -> None:
    server.memory.main.hang_search = True
    command = [*MEMCTL, "--host", host, "search", "x"]

    with TerminalProgram(command, dict(os.environ)) as program:
        server.wait_until(lambda: server.memory.main.waiting == 1)
        program.press(b"\x03")

        assert program.wait_end() == 130
    server.wait_until(lambda: server.memory.main.waiting == 0)
    wait_until(lambda: sshd.connections() == 0)


def test_killed_memctl_leaves_no_ssh(sshd: SshServer, server: ServerThread, host: str) -> None:
    server.memory.main.hang_search = True

    with TerminalProgram([*MEMCTL, "--host", host, "search", "x"], dict(os.environ)):
        server.wait_until(lambda: server.memory.main.waiting == 1)

    server.wait_until(lambda: server.memory.main.waiting == 0)
    wait_until(lambda: sshd.connections() == 0)
