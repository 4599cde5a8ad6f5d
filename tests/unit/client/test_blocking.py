"""The blocking client: the contract of all clients, retries, and hints on errors."""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memd.rpc.limits import Limits
from memd_client import requests
from memd_client.async_methods import AsyncMethods
from memd_client.blocking import Client
from memd_client.errors import (
    AgentUnknownError,
    BadParamsError,
    ConnectionLostError,
    DaemonUnreachableError,
    DeadlineExceededError,
    FrameInvalidError,
    FrameTooBigError,
    IdleTimeoutError,
    MemdError,
    SocketPathError,
    TooManyConnectionsError,
    TooManyRequestsError,
)
from memd_client.framing import FrameDecoder, encode_frame
from memd_client.messages import PROGRESS_TIMEOUT_S, REPLY_MARGIN_S, REQUESTS, EmbedParams, EmbedReply, Hit
from memd_client.methods import Methods
from memd_client.prepared_request import PreparedRequest
from memd_client.schema import to_wire
from tests.contracts.client import ClientContract
from tests.contracts.client_streams import StreamContract
from tests.support.scripted_daemon import ScriptedDaemon, answer_hello
from tests.support.sockets import ServerThread, short_directory, wait_until


class TestBlockingClient(ClientContract, StreamContract):
    """The contracts."""

    def make_client(self, path: Path, **options: Any) -> Client:
        return Client(path, **options)


@pytest.fixture
def server() -> Iterator[ServerThread]:
    with short_directory() as directory, ServerThread(directory / "s") as running:
        yield running


def test_requests_of_threads_overlap_on_one_connection(server: ServerThread) -> None:
    with Client(server.path) as client, ThreadPoolExecutor(2) as pool:
        replies = list(pool.map(client.search, ["pair", "pair"]))  # each waits for the other
        assert [reply.hits[0].snippet for reply in replies] == ["pair", "pair"]
        assert server.daemon.open_connections == 1


def test_every_thread_gets_its_own_reply(server: ServerThread) -> None:
    def ask(number: int) -> None:
        for round_number in range(40):
            query = (
                f"big {number * 700 + round_number + 1}"
                if round_number % 10 == 0
                else f"{number} {round_number}"
            )
            snippet = client.search(query).hits[0].snippet
            assert snippet == query or len(snippet) == number * 700 + round_number + 1

    with Client(server.path) as client, ThreadPoolExecutor(12) as pool:
        list(pool.map(ask, range(12)))
        assert server.daemon.open_connections == 1


def test_a_deadline_in_one_thread_does_not_affect_other_threads(server: ServerThread) -> None:
    with Client(server.path, timeout_s=None) as client, ThreadPoolExecutor(4) as pool:
        client.hello()
        connection = client._state.connection
        assert connection is not None
        late = [pool.submit(connection.request, "search", {"query": "wait"}, 0.1) for _ in range(2)]
        for _ in range(50):
            assert client.search("x").hits
        for future in late:
            with pytest.raises(DeadlineExceededError):
                future.result()
        assert client._state.connection is connection
        assert connection.broken is None
        server.wait_until(lambda: server.memory.main.cancelled == 2)


def test_another_thread_takes_over_reading_when_the_reader_times_out(server: ServerThread) -> None:
    """The first thread reads for all; its deadline passes while another still waits."""
    with Client(server.path, timeout_s=None) as client, ThreadPoolExecutor(2) as pool:
        client.hello()
        connection = client._state.connection
        assert connection is not None
        leader = pool.submit(connection.request, "search", {"query": "wait"}, 0.3)
        server.wait_until(lambda: server.memory.main.waiting == 1)
        follower = pool.submit(connection.request, "search", {"query": "pair"}, 20)
        with pytest.raises(DeadlineExceededError):
            leader.result()
        with Client(server.path) as other:
            other.search("pair")
        assert follower.result()["hits"]


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C as a terminal's program knows it: one started in the background of a shell ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_cancels_the_request_and_keeps_the_connection(server: ServerThread) -> None:
    with Client(server.path, timeout_s=120) as client:
        client.hello()
        connection = client._state.connection

        def press() -> None:
            wait_until(lambda: server.memory.main.waiting == 1)
            os.kill(os.getpid(), signal.SIGINT)

        presser = threading.Thread(target=press)
        presser.start()
        with pytest.raises(KeyboardInterrupt):
            client.search("wait")
        presser.join()
        server.wait_until(lambda: server.memory.main.cancelled == 1)
        assert client.search("x").hits
        assert client._state.connection is connection


def test_an_exception_of_a_progress_callback_cancels_the_request(server: ServerThread) -> None:
    def fail(_: object) -> None:
        raise ZeroDivisionError

    with Client(server.path) as client:
        with pytest.raises(ZeroDivisionError):
            client.index("main", on_progress=fail)
        assert client.search("x").hits
        assert "0 waiting" in repr(client)


def test_a_callback_may_use_the_client(server: ServerThread) -> None:
    with Client(server.path) as client:
        found: list[str] = []
        client.index("main", on_progress=lambda _: found.append(client.search("inner").hits[0].snippet))
        assert found == ["inner", "inner"]


def test_an_unencodable_request_leaves_the_connection_usable(server: ServerThread) -> None:
    with Client(server.path) as client:
        with pytest.raises(FrameTooBigError):
            client.embed(["x" * (17 * 1024 * 1024)])
        with pytest.raises(BadParamsError):
            client.search({1, 2})  # type: ignore[arg-type]
        assert client.search("a\udc80b").hits[0].snippet == "a?b"
        assert server.daemon.open_connections == 1


def test_a_reply_over_the_frame_limit_fails_only_its_request(server: ServerThread) -> None:
    with Client(server.path) as client:
        with pytest.raises(FrameTooBigError):
            client.search("big 17000000")
        assert len(client.search("big 16000000").hits[0].snippet) == 16_000_000


def test_a_forked_child_opens_its_own_connection(server: ServerThread) -> None:
    with Client(server.path) as client:
        client.search("x")
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(writer, client.search("child").hits[0].snippet.encode())
            finally:
                os.kill(os.getpid(), signal.SIGKILL)
        os.close(writer)
        with open(reader, "rb") as pipe:
            assert pipe.read() == b"child"
        os.waitpid(child, 0)
        assert client.search("parent").hits[0].snippet == "parent"


def test_a_client_reconnects_after_the_daemon_closed_an_idle_connection() -> None:
    with (
        short_directory() as directory,
        ServerThread(directory / "s", limits=Limits(idle_s=0.05)) as server,
        Client(server.path) as client,
    ):
        client.search("x")
        server.wait_until(lambda: server.daemon.open_connections == 0)
        assert client.search("y").hits


def test_a_connection_over_the_limit_raises_too_many_connections() -> None:
    with (
        short_directory() as directory,
        ServerThread(directory / "s", limits=Limits(connections=1)) as server,
        Client(server.path) as first,
        Client(server.path) as second,
    ):
        first.search("x")
        with pytest.raises(TooManyConnectionsError, match="1 connections"):
            second.search("x")
        assert first.search("x").hits


def test_requests_over_the_limit_raise_an_error_and_can_be_cancelled() -> None:
    limits = Limits(requests_per_connection=2, drain_s=0.2)
    with (
        short_directory() as directory,
        ServerThread(directory / "s", limits=limits) as server,
        Client(server.path, timeout_s=0.5) as client,
        ThreadPoolExecutor(2) as pool,
    ):
        client.hello()
        late = [pool.submit(client.search, "wait") for _ in range(2)]
        server.wait_until(lambda: server.memory.main.waiting == 2)
        with pytest.raises(TooManyRequestsError):
            client.search("x")
        for future in late:
            with pytest.raises(DeadlineExceededError):
                future.result()
        server.wait_until(lambda: server.memory.main.waiting == 0)
        assert client.search("x").hits


def test_closing_fails_the_requests_of_other_threads(server: ServerThread) -> None:
    client = Client(server.path)
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(client.search, "wait") for _ in range(2)]
        server.wait_until(lambda: server.memory.main.waiting == 2)
        client.close()
        client.close()
        for future in waiting:
            with pytest.raises(ConnectionLostError):
                future.result()
    with pytest.raises(ConnectionLostError, match="closed"):
        client.search("x")
    assert repr(client).endswith("closed>")
    server.wait_until(lambda: server.memory.main.cancelled == 2)


def test_a_request_is_sent_again_once_after_its_connection_broke() -> None:
    def break_at_request(connection: socket.socket) -> None:
        answer_hello(connection)
        connection.recv(65536)
        connection.close()

    with short_directory() as directory:
        scripts = (break_at_request, break_at_request)
        with (
            ScriptedDaemon(directory / "s", *scripts),
            Client(directory / "s") as client,
            pytest.raises(ConnectionLostError),
        ):
            client.search("x")


def test_a_daemon_that_hangs_at_hello_raises_a_deadline_error() -> None:
    with (
        short_directory() as directory,
        ScriptedDaemon(directory / "s", lambda connection: None),
        Client(directory / "s", connect_timeout_s=0.1) as client,
        pytest.raises(DeadlineExceededError, match="accepted the connection but did not reply"),
    ):
        client.status()


def test_a_peer_that_speaks_another_protocol_raises_an_error() -> None:
    def speak_http(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with (
        short_directory() as directory,
        ScriptedDaemon(directory / "s", speak_http),
        Client(directory / "s") as client,
        pytest.raises(FrameTooBigError),
    ):
        client.status()


def test_an_incomplete_reply_raises_an_error() -> None:
    def half(connection: socket.socket) -> None:
        answer_hello(connection)
        (request,) = FrameDecoder().feed(connection.recv(65536))
        connection.sendall(encode_frame([1, request[1], None, {"hits": [3]}]))

    with (
        short_directory() as directory,
        ScriptedDaemon(directory / "s", half),
        Client(directory / "s") as client,
        pytest.raises(FrameInvalidError, match="reply to search"),
    ):
        client.search("x")


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("place", ["score", "explain"])
def test_a_reply_with_a_number_that_is_not_finite_raises_an_error(number: float, place: str) -> None:
    hit = {**to_wire(Hit("a.md", 1, 1, 0.5, None, None, "x", "memory", "a.md#L1"))}
    hit[place] = number if place == "score" else {"steps": {"fused": [0.5, number]}}

    def lie(connection: socket.socket) -> None:
        answer_hello(connection)
        (request,) = FrameDecoder().feed(connection.recv(65536))
        reply = {"agent": "main", "hits": [hit], "mode": "keyword", "degraded": None, "abstained": False}
        connection.sendall(encode_frame([1, request[1], None, reply]))

    with (
        short_directory() as directory,
        ScriptedDaemon(directory / "s", lie),
        Client(directory / "s") as client,
        pytest.raises(FrameInvalidError, match=r"reply to search is invalid: `(score|fused)` is"),
    ):
        client.search("x")


def test_a_daemon_that_reads_nothing_does_not_block_the_sender() -> None:
    with short_directory() as directory, ScriptedDaemon(directory / "s", answer_hello):
        with Client(directory / "s", timeout_s=0.2) as client, pytest.raises(MemdError) as caught:
            client.embed(["x" * 8_000_000])
        assert caught.value.code == "deadline_exceeded"


def test_a_socket_path_that_is_too_long_is_rejected_in_the_constructor() -> None:
    with pytest.raises(SocketPathError, match="bytes long"):
        Client("/tmp/" + "x" * 120)


def test_importing_the_client_loads_no_event_loop() -> None:
    program = "import memd_client, sys; print(*sys.modules)"
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environ, check=True
    )
    names = set(loaded.stdout.split())
    heavy = {
        "asyncio",
        "trio",
        "typing_extensions",
        "subprocess",
        "pathlib",
        "json",
        "logging",
        "typing",
        "inspect",
        "dataclasses",
        "re",
        "importlib.metadata",
    }
    assert names & heavy == set()


def raised_again(error: MemdError) -> MemdError:
    """Return an error that was caught and raised twice."""
    for _ in range(2):
        try:
            raise error
        except MemdError as caught:
            error = caught
    return error


@pytest.mark.parametrize(
    "passed_on",
    [
        raised_again,
        copy.copy,
        copy.deepcopy,
        lambda error: pickle.loads(pickle.dumps(error)),
        lambda error: MemdError.from_wire(error.to_wire()),
    ],
    ids=["raised again", "copied", "deeply copied", "pickled", "sent"],
)
def test_a_reraised_error_shows_its_hint_once(passed_on: Callable[[MemdError], MemdError]) -> None:
    error = passed_on(AgentUnknownError("there is no agent anna", hint="known agents: main"))

    shown = "".join(traceback.format_exception(error))

    assert type(error) is AgentUnknownError
    assert shown.count("hint: ") == 1
    assert shown.endswith("there is no agent anna\nhint: known agents: main\n")
    assert str(error) == "there is no agent anna"


def test_the_traceback_of_an_uncaught_error_shows_its_hint() -> None:
    script = "from memd_client import Client; Client('/tmp/memd-none/s').search('kettle')"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1] == f"hint: {DaemonUnreachableError.hint}"
    assert "kettle" not in ended.stderr.splitlines()[-2]


BUILDERS = {
    name: found for name, found in vars(requests).items() if inspect.isfunction(found) and name in REQUESTS
}


def test_every_request_can_be_built_and_is_a_method_of_every_client() -> None:
    names = set(REQUESTS) - {"cancel", "subscribe"}  # both are said by what a client does with a request

    assert names - BUILDERS.keys() == set()
    assert names - set(dir(Methods)) == set()
    assert names - set(dir(AsyncMethods)) == set()


@pytest.mark.parametrize("name", sorted(BUILDERS))
def test_a_prepared_request_has_the_name_and_records_of_the_protocol(name: str) -> None:
    build = BUILDERS[name]
    needed = {
        parameter.name: "x" if parameter.annotation == "str" else ()
        for parameter in inspect.signature(build).parameters.values()
        if parameter.default is inspect.Parameter.empty
    }
    ask = build(**needed)

    assert ask.method == name
    assert (type(ask.params), ask.reply) == REQUESTS[name][:2]
    assert repr(ask) == f"<PreparedRequest {name}>"


def test_the_clients_agent_is_the_default_of_requests() -> None:
    assert requests.search("x").wire_params("mine")["agent"] == "mine"
    assert requests.search("x", agent="other").wire_params("mine")["agent"] == "other"
    assert requests.search("x", agent="").wire_params("mine")["agent"] == "mine"
    assert requests.search("x").wire_params(None)["agent"] is None
    assert requests.status().wire_params("mine")["agent"] is None
    assert requests.subscribe().wire_params("mine")["agent"] is None
    assert requests.metrics().wire_params("mine") == {}


def test_the_reply_timeout_depends_on_the_request() -> None:
    assert requests.get("a").reply_timeout_s(30) == 30
    assert requests.search("x", deadline_ms=60_000).reply_timeout_s(30) == 60 + REPLY_MARGIN_S
    assert requests.search("x", deadline_ms=10).reply_timeout_s(30) == 30
    assert requests.index().reply_timeout_s(30) == PROGRESS_TIMEOUT_S
    assert requests.index().reply_timeout_s(1000) == 1000
    assert requests.subscribe().reply_timeout_s(30) is None
    assert all(build.reply_timeout_s(None) is None for build in (requests.hello(), requests.index()))


@pytest.mark.parametrize(
    ("error", "repeatable", "once"),
    [
        (ConnectionLostError("x"), True, False),
        (ConnectionLostError("x", data={"sent": False}), True, True),
        (IdleTimeoutError("x"), True, True),
        (DeadlineExceededError("x"), False, False),
        (MemdError("x"), False, False),
    ],
)
def test_only_a_lost_connection_allows_to_repeat_a_request(
    error: MemdError, repeatable: bool, once: bool
) -> None:
    params = EmbedParams(texts=[])
    assert PreparedRequest("embed", params, EmbedReply).can_repeat(error) is repeatable
    assert PreparedRequest("embed", params, EmbedReply, repeatable=False).can_repeat(error) is once


@pytest.mark.parametrize("result", [{}, {"hits": [3]}, {"hits": 3}, {"hits": None}, {"pending": "x"}])
def test_a_reply_without_a_required_field_raises_an_error(result: Any) -> None:
    with pytest.raises(FrameInvalidError, match="reply to search"):
        requests.search("x").parse_reply(result)
