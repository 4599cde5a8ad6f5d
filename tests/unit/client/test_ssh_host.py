"""Hosts: their names, the command of ssh, and what its end means; programs of the test act as ssh."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memd_client import Client
from memd_client.aio import AsyncioClient
from memd_client.destination import CONNECT_TIMEOUT_S, HOST_CONNECT_TIMEOUT_S
from memd_client.errors import (
    ConfigInvalidError,
    ConnectionLostError,
    DaemonStartError,
    DaemonUnreachableError,
    DeadlineExceededError,
    FrameTooBigError,
    HostAuthError,
    HostCommandError,
    HostUnreachableError,
    MemdError,
)
from memd_client.ssh_failures import host_error
from memd_client.ssh_host import SshHost, remote_command
from memd_client.trio import TrioClient
from tests.support.processes import children, open_descriptors
from tests.support.sockets import ServerThread, wait_until

CLIENTS: tuple[Any, ...] = (Client, AsyncioClient, TrioClient)

FakeSsh = Callable[[str], Path]


@pytest.fixture
def fake_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSsh:
    """A function that makes a shell script act as ssh."""

    def write(script: str) -> Path:
        program = tmp_path / "fake ssh"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("MEMD_SSH", shlex.quote(str(program)))
        return program

    return write


def greeting_error(**options: Any) -> MemdError:
    """Return the error of a client whose host can't be used."""
    with Client(host="server", **options) as client, pytest.raises(MemdError) as caught:
        client.hello()
    return caught.value


@pytest.mark.parametrize("kind", CLIENTS)
@pytest.mark.parametrize(
    "host",
    [
        "",
        "-oProxyCommand=touch x",
        "-l",
        "a b",
        "a;b",
        "$(id)",
        "a@-oProxyCommand=x",
        "ssh://-x",
        "a\n",
        "@b",
        "a@",
    ],
)
def test_host_that_is_no_host_is_refused(kind: Any, host: str) -> None:
    with pytest.raises(ConfigInvalidError, match="not a host for ssh") as caught:
        kind(host=host)

    assert caught.value.data == {"key": "host"}


@pytest.mark.parametrize(
    "host", ["server", "eva@server", "ssh://eva@server:2222", "::1", "a@b@c", "x_1.example"]
)
def test_host_that_ssh_accepts_is_passed_after_the_options(host: str) -> None:
    command = SshHost(host).command(20.0)

    assert command[-3:-1] == ["--", host]
    assert command[:2] == ["ssh", "-T"]
    assert {"-oBatchMode=yes", "-oConnectTimeout=15", "-oServerAliveInterval=15"} <= set(command)


@pytest.mark.parametrize("kind", CLIENTS)
@pytest.mark.parametrize(
    "options", [{"socket_path": "/run/x"}, {"autostart": True}, {"daemon_command": ["memd"]}]
)
def test_argument_for_this_machine_is_refused_with_a_host(kind: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigInvalidError, match="cannot be combined with host"):
        kind(host="server", **options)


@pytest.mark.parametrize("kind", CLIENTS)
def test_connect_timeout_is_longer_for_a_host_unless_given(kind: Any, short_path: Path) -> None:
    timeouts = [
        kind(**options)._connect_timeout_s
        for options in (
            {"host": "a"},
            {"host": "a", "connect_timeout_s": 3.0},
            {"socket_path": short_path / "s"},
        )
    ]

    assert timeouts == [HOST_CONNECT_TIMEOUT_S, 3.0, CONNECT_TIMEOUT_S]


@pytest.mark.parametrize("kind", CLIENTS)
def test_client_with_a_host_shows_the_host(kind: Any) -> None:
    client = kind(host="eva@server")

    assert (client.host, client.socket_path) == ("eva@server", "")
    assert f"<{kind.__name__} eva@server, " in repr(client)


def test_ssh_is_the_command_of_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMD_SSH", "'/opt/my ssh' -F 'a b'")

    assert SshHost("server").command(5.0)[:4] == ["/opt/my ssh", "-F", "a b", "-T"]


def test_variable_with_an_unclosed_quotation_mark_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMD_SSH", "ssh -F 'a")

    assert isinstance(greeting_error(), ConfigInvalidError)


def test_command_on_the_host_is_one_word_of_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shlex.split(remote_command())[:3] == ["exec", "sh", "-c"]
    assert remote_command().endswith("exec memctl stdio'")

    monkeypatch.setenv("MEMD_HOST_COMMAND", "'/opt/my memd/memctl' stdio")
    words = shlex.split(remote_command())

    assert len(words) == 4
    assert words[3].endswith("; exec '/opt/my memd/memctl' stdio")


def test_missing_ssh_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMD_SSH", "/nowhere/ssh")
    before = open_descriptors()

    error = greeting_error()

    assert isinstance(error, HostUnreachableError)
    assert "/nowhere/ssh" in error.message
    assert "MEMD_SSH" in error.hint
    assert open_descriptors() == before


def test_ssh_that_does_not_connect_is_ended_after_the_timeout(fake_ssh: FakeSsh) -> None:
    fake_ssh("echo 'debug: still connecting' >&2; exec sleep 600")
    before = (open_descriptors(), children())

    error = greeting_error(connect_timeout_s=0.5)

    assert isinstance(error, HostUnreachableError)
    assert error.message.startswith("no reply from server in 0.5 s")
    assert error.retryable
    assert (open_descriptors(), children()) == before


def test_ssh_that_ignores_its_end_is_killed(fake_ssh: FakeSsh) -> None:
    fake_ssh("trap '' TERM; while :; do sleep 0.1; done")
    before = children()

    greeting_error(connect_timeout_s=0.3)

    assert children() == before


def test_ssh_ended_by_a_signal_is_reported(fake_ssh: FakeSsh) -> None:
    fake_ssh("kill -9 $$")

    error = greeting_error()

    assert isinstance(error, HostUnreachableError)
    assert "ended by signal 9" in error.message


def test_more_messages_than_a_pipe_holds_do_not_stop_ssh(
    fake_ssh: FakeSsh, monkeypatch: pytest.MonkeyPatch, short_path: Path
) -> None:
    stdio = f"exec {shlex.quote(sys.executable)} -c 'from memd.cli.main import main; main()' stdio"
    fake_ssh(f"head -c 300000 /dev/zero >&2 2>/dev/null\n{stdio}")
    monkeypatch.setenv("MEMD_SOCKET", str(short_path / "s"))
    monkeypatch.delenv("MEMD_AUTOSTART", raising=False)

    with ServerThread(short_path / "s"), Client(host="server") as client:
        assert client.search("x").hits


def test_forked_child_leaves_the_connection_to_its_parent(
    fake_ssh: FakeSsh, monkeypatch: pytest.MonkeyPatch, short_path: Path
) -> None:
    fake_ssh(f"exec {shlex.quote(sys.executable)} -c 'from memd.cli.main import main; main()' stdio")
    monkeypatch.setenv("MEMD_SOCKET", str(short_path / "s"))

    with ServerThread(short_path / "s") as server, Client(host="server") as client:
        client.search("x")
        child = os.fork()
        if child == 0:
            code = 1
            try:
                client.search("x")
                client.close()
                code = 0
            finally:
                os._exit(code)  # noqa: TID251 - the child must not run the test's cleanup
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert client.search("x").hits
        wait_until(lambda: server.daemon.open_connections == 1)


TEXTS: tuple[tuple[int | None, str, type[MemdError], str], ...] = (
    (
        255,
        "ssh: Could not resolve hostname srv: Name or service not known",
        HostUnreachableError,
        "is not known",
    ),
    (
        255,
        "ssh: connect to host srv port 22: Connection refused",
        HostUnreachableError,
        "refuses connections",
    ),
    (255, "ssh: connect to host srv port 22: Connection timed out", HostUnreachableError, "does not respond"),
    (255, "ssh: connect to host srv port 22: No route to host", HostUnreachableError, "does not respond"),
    (
        255,
        "@ REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.",
        HostAuthError,
        "is not",
    ),
    (255, "Host key verification failed.", HostAuthError, "does not know the host key"),
    (255, "eva@srv: Permission denied (publickey,password).", HostAuthError, "accepts no key"),
    (
        255,
        "kex_exchange_identification: read: Connection reset by peer",
        HostUnreachableError,
        "reset by peer",
    ),
    (255, "", HostUnreachableError, "ssh can't connect to srv"),
    (127, "sh: 1: exec: memctl: not found", HostCommandError, "memctl: not found"),
    (126, "", HostCommandError, "status 126"),
    (1, "This account is currently not available.", HostCommandError, "not available"),
    (0, "", DaemonUnreachableError, "ended before it replied"),
    (None, "", HostUnreachableError, "ssh closed the connection"),
    (
        2,
        "error: no such command 'stdio'\n  hint: run `memctl --help`\n  code: usage\n",
        HostCommandError,
        "too old",
    ),
    (
        1,
        "motd\nerror: it ended\n  hint: see x\n  code: daemon_start_failed\n",
        DaemonStartError,
        "srv: it ended",
    ),
)


@pytest.mark.parametrize(("status", "text", "kind", "part"), TEXTS)
def test_end_of_ssh_is_an_error_with_its_cause(
    status: int | None, text: str, kind: type[MemdError], part: str
) -> None:
    error = host_error("srv", status, text, ConnectionLostError("ended"), 20.0)

    assert type(error) is kind
    assert part in error.message
    assert error.hint


def test_text_from_the_host_is_shown_without_control_characters() -> None:
    error = host_error("srv", 1, "\x1b[2Jx" + "y" * 1_000, ConnectionLostError("ended"), 20.0)

    assert "\x1b" not in error.message
    assert len(error.message) < 400


def test_text_in_place_of_the_protocol_is_reported() -> None:
    error = host_error("srv", None, "", FrameTooBigError("1.2 GB"), 20.0)

    assert isinstance(error, HostCommandError)
    assert "not memd's protocol" in error.message


def test_timeout_shows_the_last_message_of_ssh() -> None:
    error = host_error("srv", None, "waiting\n\n", DeadlineExceededError("late"), 20.0)

    assert error.message == "no reply from srv in 20 s: waiting"


def test_hint_quotes_a_host_for_the_shell() -> None:
    error = host_error("a*b", 255, "", ConnectionLostError("ended"), 20.0)

    assert "`ssh 'a*b' memctl status`" in error.hint
