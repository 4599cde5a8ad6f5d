"""The Node client: the contracts of all clients, and what Node adds to them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memd_client import Client, requests
from memd_client.errors import ConnectionLostError, DaemonStartError, DaemonUnreachableError, MemdError
from memd_client.messages import REQUESTS
from memd_client.schema import from_wire
from tests.contracts.client import ClientContract
from tests.contracts.client_daemon import DaemonContract, contract_daemon
from tests.contracts.client_streams import StreamContract
from tests.support.blocking_node_client import BlockingNodeClient, node_client_project
from tests.support.daemon import DaemonProcess
from tests.support.frames import PARAMS, params_of, recorded_daemon
from tests.support.node import run_node
from tests.support.sockets import ServerThread, short_directory, wait_until
from tests.support.state_homes import StateHome, agents_config

CLIENTS = 20


class TestNodeClient(ClientContract, StreamContract):
    """Against a server over a fake memory, and scripts."""

    def make_client(self, path: Path, **options: Any) -> BlockingNodeClient:
        return BlockingNodeClient(path, **options)


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    with contract_daemon() as running:
        yield running


class TestNodeClientOfAWholeDaemon(DaemonContract):
    """Against the real one."""

    def make_client(self, path: Path, **options: Any) -> BlockingNodeClient:
        return BlockingNodeClient(path, **options)


def test_every_request_returns_its_reply_type() -> None:
    with recorded_daemon() as running, BlockingNodeClient(running.home.socket) as client:
        for name in PARAMS:
            reply = client.tell("request", method=name, params=params_of(name), options={})
            assert from_wire(REQUESTS[name][1], reply), name


def test_twenty_clients_share_a_daemon(daemon: DaemonProcess) -> None:
    with contextlib.ExitStack() as stack, ThreadPoolExecutor(CLIENTS) as pool:
        clients = [stack.enter_context(BlockingNodeClient(daemon.home.socket)) for _ in range(CLIENTS)]

        found = list(pool.map(lambda each: each[1].search(f"Word{each[0]}").hits[0].path, enumerate(clients)))

        assert found == [f"memory/note-{number}.md" for number in range(CLIENTS)]
        assert clients[0].status().connections == CLIENTS


# --- a daemon that goes away


def test_a_daemon_killed_during_a_request_raises_connection_lost(daemon: DaemonProcess) -> None:
    with BlockingNodeClient(daemon.home.socket) as client, ThreadPoolExecutor(1) as pool:
        client.hello()
        os.kill(daemon.pid, signal.SIGSTOP)
        under_way = pool.submit(client.search, "gateway")
        wait_until(lambda: "1 waiting" in repr_of(client))
        daemon.kill()
        try:
            with pytest.raises((DaemonUnreachableError, ConnectionLostError)):
                under_way.result(20)
        finally:
            daemon.start()
        assert client.search("staging gateway port").hits


def repr_of(client: BlockingNodeClient) -> str:
    """Return what the client says of itself."""
    return str(client.tell("describe"))


@pytest.fixture
def home() -> Iterator[StateHome]:
    """A home without a daemon; one that a client starts is ended with it."""
    with StateHome(agents_config(Path("/nowhere"))) as home:
        home.note("MEMORY.md", "# Gateway\n\nThe staging gateway listens on port 4711.\n")
        yield home
        with contextlib.suppress(MemdError), Client(home.socket) as client:
            pid = client.hello().pid
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda: not _is_running(pid))


def starting(home: StateHome, *command: str) -> BlockingNodeClient:
    """Return a client that starts the daemon."""
    argv = command or (sys.executable, "-P", "-m", "memd")
    return BlockingNodeClient(home.socket, autostart=True, command=argv, environ=home.environ())


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_client_restarts_a_daemon_killed_during_a_request(home: StateHome) -> None:
    with starting(home) as client, ThreadPoolExecutor(1) as pool:
        before = client.index() and client.hello().pid
        os.kill(before, signal.SIGSTOP)
        under_way = pool.submit(client.search, "staging gateway port")
        wait_until(lambda: "1 waiting" in repr_of(client))
        os.kill(before, signal.SIGKILL)

        assert under_way.result(40).hits[0].path == "MEMORY.md"

        assert client.hello().pid != before
        assert not list(home.socket.parent.glob("*.starting"))


def test_a_daemon_outlives_the_client_that_started_it(home: StateHome) -> None:
    with starting(home) as client:
        pid = client.hello().pid

    with Client(home.socket) as other:
        assert other.hello().pid == pid


def test_clients_that_start_at_once_get_one_daemon(home: StateHome) -> None:
    with contextlib.ExitStack() as stack, ThreadPoolExecutor(6) as pool:
        clients = [stack.enter_context(starting(home)) for _ in range(6)]
        assert len({reply.pid for reply in pool.map(lambda client: client.hello(), clients)}) == 1


def test_a_start_lock_of_an_ended_client_is_taken_over(home: StateHome) -> None:
    home.socket.parent.mkdir(mode=0o700)
    home.socket.with_name(f"{home.socket.name}.starting").write_text("4194303")  # no process has that number

    with starting(home) as client:
        assert client.hello().pid


def test_a_daemon_that_ends_raises_an_error_with_the_end_of_its_log(home: StateHome) -> None:
    with (
        starting(home, sys.executable, "-c", "import sys; sys.exit('the stub fails on purpose')") as client,
        pytest.raises(DaemonStartError, match="ended with 1; its log ends with: the stub fails on purpose"),
    ):
        client.hello()


def test_a_missing_daemon_command_raises_an_error(home: StateHome) -> None:
    with starting(home, "/nowhere/memd") as client, pytest.raises(DaemonStartError, match="/nowhere/memd"):
        client.hello()


# --- the host's process


def test_a_process_ends_though_its_client_is_open(tmp_path: Path) -> None:
    node_client_project(tmp_path)
    (tmp_path / "end.mjs").write_text(
        'import { Client } from "memd-client";\n'
        "const client = new Client({ timeoutMs: 60_000 });\n"
        'console.log((await client.search({ query: "x" })).hits[0].snippet);\n'
        "process.on('exit', () => console.log(String(client).includes('0 waiting')));\n"
    )
    with short_directory() as directory, ServerThread(directory / "s") as server:
        ended = run_node(
            ["end.mjs"],
            cwd=tmp_path,
            environ={"MEMD_SOCKET": str(server.path), "OPENCLAW_STATE_DIR": "/state"},
            timeout_s=30,
        )

    assert (ended.stdout, ended.stderr, ended.returncode) == ("x\ntrue\n", "", 0)


# --- how requests are treated is what the Python client does


SAMPLES: list[tuple[str, dict[str, Any]]] = [
    *((name, PARAMS[name]) for name in PARAMS),
    ("hello", {}),
    ("search", {"query": "x", "deadline_ms": 90_000}),
    ("call_tool", {"name": "memory_search", "arguments": {}, "deadline_ms": 70_000}),
    ("append_note", {"text": "x"}),
    ("memory_store", {"text": "x"}),
    ("compaction_done", {}),
    ("compaction_done", {"session_key": "k"}),
]


def test_timeouts_and_repetition_are_those_of_the_python_client(tmp_path: Path) -> None:
    expected = []
    for name, params in SAMPLES:
        request = getattr(requests, name)(**params)
        wait_s = request.reply_timeout_s(30.0)
        assert wait_s is not None
        expected.append(
            [
                wait_s * 1000,
                request.renews_deadline,
                request.repeatable,
                request.wire_params("own").get("agent") == "own",
            ]
        )
    node_client_project(tmp_path)
    (tmp_path / "samples.json").write_text(json.dumps([[name, _plain(params)] for name, params in SAMPLES]))
    (tmp_path / "policy.mjs").write_text(
        'import { readFileSync } from "node:fs";\n'
        'import { isRepeatable, replyTimeout, withAgent } from "./node_modules/memd-client/lib/requests.js";\n'
        'const told = JSON.parse(readFileSync("samples.json", "utf8")).map(([name, params]) => {\n'
        "  const { deadlineMs, renewsDeadline } = replyTimeout(name, params, undefined, 30_000);\n"
        "  const own = withAgent(name, params, 'own').agent === 'own';\n"
        "  return [deadlineMs, renewsDeadline, isRepeatable(name, params), own];\n"
        "});\n"
        "console.log(JSON.stringify(told));\n"
    )

    ended = run_node(["policy.mjs"], cwd=tmp_path)

    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert dict(zip(map(str, SAMPLES), told, strict=True)) == dict(
        zip(map(str, SAMPLES), expected, strict=True)
    )


def _plain(params: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in params.items() if not isinstance(value, bytes)}
