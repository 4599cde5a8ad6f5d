"""`memctl stdio`: bytes between two descriptors and the daemon's socket."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memd.cli.stdio import relay
from memd_client.errors import DaemonUnreachableError
from tests.support.processes import PipedProgram
from tests.support.sockets import STATE_TIMEOUT_S, ServerThread, wait_until
from tests.unit.cli.memctl_runner import memctl

COMMAND = [sys.executable, "-c", "from memd.cli.main import main; main()", "stdio"]

HELLO = [0, 1, "hello", {"protocol": 1}]


class RunningRelay:
    """A relay in a thread, its two pipes and the daemon's end of its socket."""

    def __init__(self) -> None:
        self.daemon, sock = socket.socketpair()
        self.daemon.settimeout(STATE_TIMEOUT_S)
        source, self.input = os.pipe()
        self.output, sink = os.pipe()
        self._own = [source, sink]
        self._sock = sock
        self._thread = threading.Thread(target=self._run, args=(source, sink), daemon=True)
        self._thread.start()

    def _run(self, source: int, sink: int) -> None:
        relay(self._sock, source, sink)
        self._sock.close()
        os.close(sink)

    def wait_end(self) -> None:
        """Wait until the relay has ended."""
        self._thread.join(STATE_TIMEOUT_S)
        assert not self._thread.is_alive()


@pytest.fixture
def running() -> Iterator[RunningRelay]:
    relay = RunningRelay()
    yield relay
    relay.daemon.close()
    relay.wait_end()


def test_relay_copies_both_directions_until_the_socket_ends(running: RunningRelay) -> None:
    os.write(running.input, b"request")
    assert running.daemon.recv(100) == b"request"
    running.daemon.sendall(b"reply")
    assert os.read(running.output, 100) == b"reply"

    running.daemon.close()

    running.wait_end()
    assert os.read(running.output, 100) == b""


def test_end_of_the_input_ends_only_its_direction(running: RunningRelay) -> None:
    os.write(running.input, b"last")
    os.close(running.input)

    assert running.daemon.recv(100) == b"last"
    assert running.daemon.recv(100) == b""
    running.daemon.sendall(b"reply")
    assert os.read(running.output, 100) == b"reply"


def test_gone_reader_ends_the_relay_without_a_byte_from_the_daemon(running: RunningRelay) -> None:
    os.close(running.output)

    running.wait_end()


def test_full_directions_do_not_block_each_other(running: RunningRelay) -> None:
    size = 4_000_000
    received: list[int] = []

    def drain(read: Callable[[], bytes]) -> None:
        received.append(0)
        place = len(received) - 1
        while received[place] < size:
            received[place] += len(read())

    writer = threading.Thread(target=running.daemon.sendall, args=(b"d" * size,), daemon=True)
    writer.start()
    sent = 0
    reader = threading.Thread(target=drain, args=(lambda: running.daemon.recv(65536),), daemon=True)
    reader.start()
    while sent < size:  # the output is not read meanwhile
        sent += os.write(running.input, b"c" * 65536)
    drain(lambda: os.read(running.output, 65536))
    reader.join(STATE_TIMEOUT_S)

    assert min(received) >= size


def test_stdio_on_a_terminal_prints_its_help(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", type("Keyboard", (), {"isatty": lambda self: True})())

    ran = memctl("stdio")

    assert (ran.code, ran.err) == (0, "")
    assert "Usage: memctl stdio" in ran.out


def test_stdio_without_a_daemon_fails_if_it_must_not_start_one(
    short_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMD_SOCKET", str(short_path / "s"))
    monkeypatch.setenv("MEMD_AUTOSTART", "0")

    ran = memctl("stdio")

    assert (ran.code, ran.out) == (1, "")
    assert ran.err.endswith(f"code: {DaemonUnreachableError.code}\n")


def test_stdio_on_pipes_passes_frames_and_ends_with_its_input(short_path: Path) -> None:
    with (
        ServerThread(short_path / "s") as server,
        PipedProgram(COMMAND, {"MEMD_SOCKET": str(short_path / "s")}) as program,
    ):
        program.send(HELLO)
        assert program.receive()[3]["version"] == "9.9"
        program.send([0, 2, "search", {"query": "big 100000"}])
        assert len(program.receive()[3]["hits"][0]["snippet"]) == 100_000
        program.close_input()

        assert program.wait_end() == (0, b"", b"")
        wait_until(lambda: server.daemon.open_connections == 0)


def test_stdio_ends_if_its_reader_goes(short_path: Path) -> None:
    with (
        ServerThread(short_path / "s"),
        PipedProgram(COMMAND, {"MEMD_SOCKET": str(short_path / "s")}) as program,
    ):
        program.send(HELLO)
        program.receive()
        program.close_output()

        assert program.wait_end() == (0, b"", b"")


def test_stdio_imports_neither_rich_nor_the_daemon(short_path: Path) -> None:
    code = (
        "import sys; from memd.cli.main import run; from memd.cli.connect import real_session; "
        "run(['stdio'], real_session()); "
        "print([name for name in ('rich', 'trio', 'apsw', 'numpy', 'asyncio') if name in sys.modules], file=sys.stderr)"
    )
    with (
        ServerThread(short_path / "s"),
        PipedProgram([sys.executable, "-c", code], {"MEMD_SOCKET": str(short_path / "s")}) as program,
    ):
        program.send(HELLO)
        program.receive()
        program.close_input()

        assert program.wait_end() == (0, b"", b"[]\n")
