"""Hostile settings, keys, state and environment: a start, or a clear error."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memd_client.messages import StatusReply
from tests.support.daemon import DaemonProcess
from tests.support.sampling import one_in
from tests.support.sockets import wait_until
from tests.support.state_homes import UNWATCHED, StateHome

GIGABYTE = 1 << 30


@pytest.fixture
def home() -> Iterator[StateHome]:
    with StateHome(UNWATCHED) as home:
        home.note("memory/a.md", "apples are red\n")
        yield home


def fifo(path: Path) -> None:
    os.mkfifo(path)


def endless_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def unix_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(path))


def folder(path: Path) -> None:
    path.mkdir()


def gigabyte(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(GIGABYTE)


THINGS = (fifo, endless_device, unix_socket, folder, gigabyte)


def put(path: Path, make: Callable[[Path], None]) -> None:
    """Replace a file atomically by what `make` creates."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name("t")
    make(beside)
    if path.exists() and not path.is_dir() and beside.is_dir():
        path.unlink()
    os.replace(beside, path)


def reloads(daemon: DaemonProcess) -> list[dict[str, Any]]:
    """Return the log's events of reloaded settings."""
    return [event for event in daemon.events() if event["event"] == "config.reloaded"]


def problem_messages(status: StatusReply) -> str:
    """Return all problems of a status."""
    own = [problem.message for problem in status.problems]
    return "\n".join([*own, *(problem.message for agent in status.agents for problem in agent.problems)])


@pytest.mark.parametrize("make", THINGS, ids=lambda make: make.__name__)
def test_daemon_starts_with_any_settings_file(home: StateHome, make: Callable[[Path], None]) -> None:
    put(home.root / "memd.toml", make)
    put(home.state / "openclaw.json", make)
    put(home.state / "memory" / "memd-accounts.json", make)
    put(home.state / "memory" / "main.memd.sessions.json", make)
    with DaemonProcess(home) as daemon, daemon.client() as client:
        status = client.status()
        assert str(home.root / "memd.toml") in problem_messages(status)
        assert str(home.state / "openclaw.json") in problem_messages(status)
        assert client.search("apples").hits
        assert client.flush_check("s", total_tokens=10, context_window=1000) is not None
        doctor = daemon.memctl("doctor")
        assert "memd.toml" in doctor.stdout
        assert "Traceback" not in doctor.stdout + doctor.stderr


@pytest.mark.parametrize("make", THINGS, ids=lambda make: make.__name__)
def test_last_valid_settings_stay_in_force_until_the_file_is_valid(
    home: StateHome, make: Callable[[Path], None]
) -> None:
    toml = home.root / "memd.toml"
    toml.write_text("max_file_mb = 7\n")
    with DaemonProcess(home) as daemon, daemon.client() as client:
        assert not problem_messages(client.status())
        put(toml, make)
        os.kill(daemon.pid, signal.SIGHUP)
        wait_until(lambda: str(toml) in problem_messages(client.status()))
        wait_until(lambda: reloads(daemon))
        assert [event["keys"] for event in reloads(daemon)] == [[]]
        assert client.search("apples").hits
        if toml.is_dir():
            toml.rmdir()
        toml.with_name("t").write_text("max_file_mb = 7\n")
        os.replace(toml.with_name("t"), toml)
        wait_until(lambda: not problem_messages(client.status()))


def test_auth_profiles_of_another_file_type_are_a_problem_without_a_wait(home: StateHome) -> None:
    put(home.state / "agents" / "main" / "agent" / "auth-profiles.json", fifo)
    home.configure({"agents": {"defaults": {"memorySearch": {"provider": "openai"}}}})
    with DaemonProcess(home) as daemon, daemon.client() as client:
        wait_until(lambda: "auth-profiles.json is not a regular file" in repr(client.status()))
        assert client.search("apples").hits


# --- the environment --------------------------------------------------------------------------------

NO_ENTRY = """
import pwd
def getpwuid(uid):
    raise KeyError(uid)
pwd.getpwuid = getpwuid
"""
"""Run as a user id without an entry in the user database, as in a container."""

CLIENT = """
from memd_client import Client, MemdError
try:
    Client(autostart=False).status()
except MemdError as error:
    print(error.message, "/", error.hint)
    raise SystemExit(1)
"""

PROGRAMS = {
    "memd": "from memd.__main__ import main; main()",
    "memctl": "import sys; sys.argv[1:] = ['doctor']; from memd.cli.main import main; main()",
    "memctl status": "import sys; sys.argv[1:] = ['status']; from memd.cli.main import main; main()",
    "client": CLIENT,
}


def run(
    program: str, environ: dict[str, str | bytes], *, as_nobody: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run a program with these variables alone and without a runtime directory."""
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-c", (NO_ENTRY if as_nobody else "") + PROGRAMS[program]],
        env={**kept, "MEMD_AUTOSTART": "0", "PYTHONUTF8": "1", **environ},
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=120,
        check=False,
        cwd="/",
    )


has_no_runtime_directory = pytest.mark.skipif(
    os.path.isdir(f"/run/user/{os.getuid()}"), reason="the socket's directory doesn't depend on HOME here"
)
NEEDING_HOME = [
    pytest.param(name, marks=has_no_runtime_directory if name in ("client", "memctl status") else ())
    for name in PROGRAMS
]


@pytest.mark.parametrize("program", NEEDING_HOME)
def test_relative_home_is_reported_as_an_error(program: str) -> None:
    done = run(program, {"HOME": "somewhere"})
    told = done.stdout + done.stderr
    assert done.returncode == 1, told
    assert "Traceback" not in told
    assert "HOME is not an absolute path: 'somewhere'" in told
    assert "set HOME" in told


@pytest.mark.parametrize("home_variable", [{}, {"HOME": ""}], ids=["unset", "empty"])
@pytest.mark.parametrize("program", NEEDING_HOME)
def test_missing_home_is_reported_as_an_error(program: str, home_variable: dict[str, str | bytes]) -> None:
    done = run(program, home_variable, as_nobody=True)
    told = done.stdout + done.stderr
    assert done.returncode == 1, told
    assert "Traceback" not in told
    assert "HOME is not set" in told
    assert "set HOME" in told


@pytest.mark.parametrize("program", [each for each in PROGRAMS if each != "memd"])
def test_empty_home_variable_falls_back_to_the_user_database(program: str, home: StateHome) -> None:
    variables = {name: value for name, value in home.environ().items() if name != "MEMD_CONFIG"}
    done = run(program, {"HOME": "", **variables})
    assert "Traceback" not in done.stdout + done.stderr
    assert "HOME" not in done.stdout + done.stderr


def test_daemon_without_a_home_variable_answers(home: StateHome) -> None:
    with DaemonProcess(home, {"HOME": ""}) as daemon, daemon.client() as client:
        assert client.search("apples").hits


@pytest.mark.parametrize(
    ("program", "variable"),
    one_in(
        3,
        [
            (program, variable)
            for program in ("memd", "memctl")
            for variable in ("OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG_PATH", "MEMD_CONFIG", "MEMD_MODEL_DIR")
        ],
    ),
)
def test_path_outside_utf8_is_reported_as_an_error(program: str, variable: str, home: StateHome) -> None:
    named = os.fsencode(home.root) + b"/caf\xe9"
    os.mkdir(named)
    done = run(program, {**home.environ(), "HOME": "/root", variable: named})
    told = done.stdout + done.stderr
    assert done.returncode == 1, told
    assert "Traceback" not in told
    assert f"{variable} is not UTF-8" in told


@pytest.mark.parametrize("program", PROGRAMS)
def test_socket_path_outside_utf8_is_reported_as_an_error(program: str, home: StateHome) -> None:
    named = os.fsencode(home.root) + b"/caf\xe9/memd.sock"
    done = run(program, {**home.environ(), "HOME": "/root", "MEMD_SOCKET": named})
    told = done.stdout + done.stderr
    assert done.returncode == 1, told
    assert "Traceback" not in told
    assert "the socket path is not UTF-8" in told


# --- leftovers of a kill ----------------------------------------------------------------------------


def test_temporary_files_of_killed_writers_are_removed_at_the_next_start(home: StateHome) -> None:
    places = [home.state, home.state / "memory", home.workspace(), home.workspace() / "memory" / "deep"]
    with DaemonProcess(home) as daemon:
        daemon.kill()
    left = [folder / f".memd-{number:016x}.tmp" for number, folder in enumerate(places)]
    mine = home.workspace() / "memory" / ".memd-mine.tmp"
    for path in (*left, mine):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("half")
    with DaemonProcess(home) as daemon, daemon.client() as client:
        assert client.search("apples").hits
        assert [path for path in left if path.exists()] == []
        assert mine.read_text() == "half"
