"""The path of the socket, its directory, and starting the daemon."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memd_client import discovery
from memd_client.blocking import Client
from memd_client.discovery import (
    MAX_PATH_BYTES,
    check_socket_path,
    daemon_command,
    ensure_private_directory,
    log_tail,
    socket_path,
    start_and_wait,
    start_daemon,
)
from memd_client.errors import DaemonStartError, SocketPathError
from memd_client.installation import Installation
from memd_client.threaded_connection import ThreadedConnection
from memd_client.unix_socket import open_socket
from tests.support.scripted_daemon import starter_at
from tests.support.sockets import short_directory, wait_until

STUB = [sys.executable, "-m", "tests.support.stub_daemon"]


@pytest.fixture
def directory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["client", "daemon", "."]))
    with short_directory() as path:
        yield path


def test_memd_socket_has_priority_over_other_socket_paths() -> None:
    assert socket_path({"MEMD_SOCKET": "/x/y", "XDG_RUNTIME_DIR": "/run/user/1"}) == "/x/y"
    assert socket_path({"MEMD_SOCKET": "~/s"}) == os.path.expanduser("~/s")


def test_the_runtime_directory_is_the_second_choice() -> None:
    assert socket_path({"XDG_RUNTIME_DIR": "/run/user/1", "MEMD_SOCKET": ""}) == "/run/user/1/memd/memd.sock"


def test_a_login_without_xdg_runtime_dir_finds_the_same_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os.path, "isdir", lambda path: path == f"/run/user/{os.getuid()}")
    assert socket_path({"HOME": "/home/x"}) == f"/run/user/{os.getuid()}/memd/memd.sock"
    assert socket_path({"HOME": "/home/x", "XDG_RUNTIME_DIR": "not/absolute"}).startswith("/run/user/")


def test_the_home_directory_is_the_fallback_unless_its_path_is_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os.path, "isdir", lambda path: False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert socket_path({"HOME": "/home/x"}) == "/home/x/.local/state/memd/run/memd.sock"
    assert socket_path({"HOME": "/h", "XDG_STATE_HOME": "/st"}) == "/st/memd/run/memd.sock"
    assert socket_path({"HOME": "/" + "x" * 100}) == f"/tmp/memd-{os.getuid()}/memd.sock"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert socket_path({"HOME": "/Users/x"}) == "/Users/x/Library/Caches/TemporaryItems/memd/memd.sock"


def test_the_longest_socket_path_can_be_bound_and_one_byte_more_is_rejected() -> None:
    with short_directory() as directory:
        longest = str(directory / ("x" * (MAX_PATH_BYTES - len(str(directory)) - 1)))
        assert check_socket_path(longest) == longest
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(longest)
        with pytest.raises(SocketPathError, match=f"{MAX_PATH_BYTES + 1} bytes") as caught:
            check_socket_path(longest + "x")
        assert longest in caught.value.message
        assert "MEMD_SOCKET" in caught.value.hint
        with pytest.raises(SocketPathError):
            check_socket_path("/" + "ü" * 60)


@pytest.mark.parametrize("path", ["relative/s", "", "/a\0b"])
def test_an_invalid_socket_path_is_rejected(path: str) -> None:
    with pytest.raises(SocketPathError, match="not absolute"):
        check_socket_path(path)


def test_a_missing_socket_directory_is_created_with_mode_0700(directory: Path) -> None:
    ensure_private_directory(str(directory / "a" / "b"))
    assert (directory / "a" / "b").stat().st_mode & 0o777 == 0o700
    ensure_private_directory(str(directory / "a" / "b"))


def test_a_shared_socket_directory_is_rejected_and_not_changed(directory: Path) -> None:
    (directory / "open").mkdir()
    (directory / "open").chmod(0o750)
    with pytest.raises(SocketPathError, match="0750") as caught:
        ensure_private_directory(str(directory / "open"))
    assert "chmod 700" in caught.value.hint
    assert (directory / "open").stat().st_mode & 0o777 == 0o750


def test_a_socket_directory_of_another_user_is_rejected(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(SocketPathError, match="another user"):
        ensure_private_directory(str(directory))


def test_a_socket_directory_that_can_not_be_created_raises_an_error(directory: Path) -> None:
    (directory / "file").write_text("")
    with pytest.raises(SocketPathError, match=r"file/sub: Not a directory|file/sub"):
        ensure_private_directory(str(directory / "file" / "sub"))
    with pytest.raises(SocketPathError):
        ensure_private_directory(str(directory / "file"))


def test_the_daemon_command_is_this_python_if_memd_is_installed_for_it(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert daemon_command() == [sys.executable, "-P", "-m", "memd"]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    (directory / "memd").write_text("#!/bin/sh\n")
    (directory / "memd").chmod(0o700)
    monkeypatch.setenv("PATH", str(directory))
    assert daemon_command() == [str(directory / "memd")]
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(DaemonStartError, match="not installed") as caught:
        daemon_command()
    assert caught.value.hint == Installation().daemon_hint()


def _connect(path: Path) -> ThreadedConnection:
    return ThreadedConnection(open_socket(str(path), 5), 5)


def test_clients_that_autostart_concurrently_share_one_daemon(directory: Path) -> None:
    path = directory / "d" / "s"
    with ThreadPoolExecutor(3) as pool:
        connections = list(
            pool.map(lambda _: start_and_wait(str(path), lambda: _connect(path), command=STUB), range(3))
        )
    pids = {
        connection.session.daemon.pid for connection in connections if connection.session.daemon is not None
    }
    for connection in connections:
        connection.close()
    (pid,) = pids
    others = [process for process in discovery._started if process.pid != pid]
    assert {process.wait(120) for process in others} <= {discovery.EXIT_ALREADY_RUNNING}
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not path.exists())
    (daemon,) = [process for process in discovery._started if process.pid == pid]
    assert daemon.wait(120) == 0


def test_only_one_of_many_clients_starts_a_daemon(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []

    def start(socket: str, command: Sequence[str] | None = None, state_dir: str | None = None) -> Any:
        process = start_daemon(socket, command)
        started.append(process.pid)
        return process

    monkeypatch.setattr(discovery, "start_daemon", start)
    path = directory / "s"
    with ThreadPoolExecutor(8) as pool:
        connections = list(
            pool.map(lambda _: start_and_wait(str(path), lambda: _connect(path), command=STUB), range(8))
        )
    for connection in connections:
        connection.close()
    assert len(started) == 1
    os.kill(started[0], signal.SIGTERM)
    wait_until(lambda: not path.exists())
    discovery._started[-1].wait(120)


def test_another_client_starts_the_daemon_if_the_first_client_dies(directory: Path) -> None:
    path = directory / "s"
    with starter_at(path), pytest.raises(DaemonStartError, match="was not ready"):
        start_and_wait(str(path), lambda: _connect(path), command=STUB, timeout_s=0.1)
    connection = start_and_wait(str(path), lambda: _connect(path), command=STUB)
    assert connection.session.daemon is not None
    os.kill(connection.session.daemon.pid, signal.SIGTERM)
    connection.close()
    discovery._started[-1].wait(120)


def test_a_client_with_autostart_starts_the_daemon(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "daemon_command", lambda: STUB)
    with Client(directory / "s", autostart=True) as client:
        assert client.search("x").hits
        pid = client.hello().pid
        assert os.getsid(pid) == pid
        os.kill(pid, signal.SIGKILL)
        wait_until(
            lambda: any(process.poll() is not None for process in discovery._started if process.pid == pid)
        )
        assert client.search("after a kill").hits
        os.kill(client.hello().pid, signal.SIGTERM)
        wait_until(lambda: not (directory / "s").exists())
    for process in discovery._started:
        process.wait(120)


def test_a_daemon_that_ends_at_once_raises_an_error_with_its_log(directory: Path) -> None:
    path = directory / "s"
    with pytest.raises(DaemonStartError, match=r"status 3.*the stub fails on purpose"):
        start_and_wait(str(path), lambda: _connect(path), command=[*STUB, "fail"])
    assert log_tail(str(path)) == "the stub fails on purpose"


def test_a_daemon_that_does_not_become_ready_raises_an_error(directory: Path) -> None:
    path = directory / "s"
    with pytest.raises(DaemonStartError, match=r"was not ready in 0\.1 s"):
        start_and_wait(str(path), lambda: _connect(path), command=[*STUB, "hang"], timeout_s=0.1)
    discovery._started[-1].kill()
    discovery._started[-1].wait(120)


def test_a_missing_daemon_command_raises_an_error(directory: Path) -> None:
    path = directory / "s"
    with pytest.raises(DaemonStartError, match="/nowhere/memd"):
        start_and_wait(str(path), lambda: _connect(path), command=["/nowhere/memd"])


def test_started_daemon_serves_the_folder_of_the_client_under_its_own_name(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The settings file in the environment is that of another folder, and relative paths of the client are lost."""
    monkeypatch.setenv("HOME", str(directory))
    monkeypatch.setenv("OPENCLAW_STATE_DIR", "work")
    monkeypatch.setenv("OPENCLAW_CONFIG_PATH", "work/openclaw.json")
    (directory / ".clawdbot").symlink_to("elsewhere")
    monkeypatch.syspath_prepend(os.getcwd())
    monkeypatch.chdir(directory)
    program = "import json, os; print(json.dumps(dict(os.environ)), flush=True)"
    shown = []
    for state_dir in (None, ".clawdbot", "./work/"):
        client = Client(directory / "memd.sock", state_dir=state_dir, autostart=True)
        process = start_daemon(
            client.socket_path, [sys.executable, "-c", program], client._destination.state_dir
        )
        process.wait(20)
        shown.append(json.loads((directory / "memd.log").read_text().splitlines()[-1]))

    names = ("OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG_PATH")
    config = str(directory / "work" / "openclaw.json")
    assert [[each.get(name) for name in names] for each in shown] == [
        [str(directory / "work"), config],
        [str(directory / ".clawdbot"), None],
        [str(directory / "work"), config],
    ]
