"""The server with real sockets: one user, a limit of clients, and stopping."""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import trio

from memd.rpc import server as server_module
from memd.rpc.limits import Limits
from memd.rpc.server import bind_socket
from memd_client.discovery import MAX_PATH_BYTES
from memd_client.errors import SocketPathError
from memd_client.framing import encode_frame
from tests.support.sockets import RawClient, ServerThread, short_directory, wait_until


@pytest.fixture
def directory() -> Iterator[Path]:
    with short_directory() as path:
        yield path


def test_the_socket_is_its_users_alone(directory: Path) -> None:
    with ServerThread(directory / "new" / "s") as server:
        assert (directory / "new").stat().st_mode & 0o777 == 0o700
        assert server.path.stat().st_mode & 0o777 == 0o600
    assert not server.path.exists()


def test_a_stale_socket_is_replaced_and_anything_else_is_not(directory: Path) -> None:
    leftover = socket.socket(socket.AF_UNIX)
    leftover.bind(str(directory / "s"))
    leftover.close()
    with ServerThread(directory / "s") as server, RawClient(server.path) as client:
        client.greet()
    (directory / "file").write_text("mine")
    with pytest.raises(SocketPathError, match="not a socket"):
        bind_socket(directory / "file")
    assert (directory / "file").read_text() == "mine"


def test_a_path_that_is_too_long_is_named(directory: Path) -> None:
    with pytest.raises(SocketPathError, match="bytes long"):
        bind_socket(directory / ("x" * MAX_PATH_BYTES))


def test_a_directory_others_may_enter_is_refused(directory: Path) -> None:
    directory.chmod(0o755)
    with pytest.raises(SocketPathError, match="0755"):
        bind_socket(directory / "s")


def test_two_clients_do_not_see_each_other(directory: Path) -> None:
    with ServerThread(directory / "s") as server:
        with RawClient(server.path).greet() as one, RawClient(server.path).greet() as two:
            one.send([0, 1, "search", {"query": "wait"}])
            server.wait_until(lambda: server.memory.main.waiting == 1)
            assert two.call("cancel", {"id": 1}, 2)[3] == {"cancelled": False}
            two.send_bytes(b"\xff" * 100)
            assert two.read()[2]["code"] == "frame_too_big"
            assert two.read() is None
            assert one.call("search", {"query": "x"}, 2)[1] == 2
            server.wait_until(lambda: server.daemon.open_connections == 1)
        server.wait_until(lambda: server.daemon.open_connections == 0)
        assert server.memory.main.cancelled == 1


def test_another_users_process_is_refused(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ServerThread(directory / "s") as server:
        monkeypatch.setattr("memd.rpc.server.peer_uid", lambda sock: os.geteuid() + 1)
        with RawClient(server.path) as client:
            reply = client.read()
            assert (reply[1], reply[2]["code"]) == (0, "peer_refused")
            assert client.read() is None
        assert server.daemon.open_connections == 0


def test_a_system_that_does_not_say_who_connects_refuses(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(sock: Any) -> int:
        raise OSError(errno.EINVAL, "Invalid argument")

    with ServerThread(directory / "s") as server:
        monkeypatch.setattr("memd.rpc.server.peer_uid", fail)
        with RawClient(server.path) as client:
            assert client.read()[2]["code"] == "peer_refused"


def test_a_client_over_the_limit_gets_an_error_until_one_leaves(directory: Path) -> None:
    with ServerThread(directory / "s", limits=Limits(connections=2)) as server:
        with RawClient(server.path).greet(), RawClient(server.path).greet(), RawClient(server.path) as third:
            reply = third.read()
            assert (reply[1], reply[2]["code"]) == (0, "too_many_connections")
            assert third.read() is None
        server.wait_until(lambda: server.daemon.open_connections == 0)
        with RawClient(server.path) as again:
            again.greet()


def test_connections_that_never_greet_give_way_to_those_that_do(directory: Path) -> None:
    with (
        ServerThread(directory / "s", limits=Limits(connections=3, hello_s=60)) as server,
        RawClient(server.path).greet() as working,
        RawClient(server.path) as silent,
        RawClient(server.path) as also_silent,
    ):
        server.wait_until(lambda: server.daemon.open_connections == 3)
        # when: another client greets, then it is served; the oldest silent connection is closed
        with RawClient(server.path).greet() as newcomer:
            assert newcomer.call("search", {"query": "x"})[2] is None
            reply = silent.read()
            assert (reply[1], reply[2]["code"]) == (0, "too_many_connections")
            assert silent.read() is None
            # then: who has greeted never gives way
            with RawClient(server.path).greet(), RawClient(server.path) as last:
                assert last.read()[2]["code"] == "too_many_connections"
            assert also_silent.read()[2]["code"] == "too_many_connections"
            assert working.call("search", {"query": "x"})[2] is None


def test_a_slow_reader_is_dropped_and_others_are_served(directory: Path) -> None:
    with (
        ServerThread(directory / "s", limits=Limits(stall_s=0.2)) as server,
        RawClient(server.path).greet() as slow,
        RawClient(server.path).greet() as quick,
    ):
        for request_id in range(1, 6):
            slow.send([0, request_id, "search", {"query": "big 3000000"}])
        assert quick.call("search", {"query": "x"})[3]["hits"]
        server.wait_until(lambda: server.daemon.open_connections == 1)
        assert quick.call("search", {"query": "x"}, 2)[3]["hits"]


def test_a_storm_of_connections_is_survived(directory: Path) -> None:
    with ServerThread(directory / "s", limits=Limits(connections=20)) as server:
        for number in range(400):
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            sock.connect(str(server.path))
            if number % 3 == 0:
                sock.send(encode_frame([0, 1, "hello", {"protocol": 1}])[: number % 20])
            sock.close()
        server.wait_until(lambda: server.daemon.open_connections == 0)
        with RawClient(server.path) as client:
            client.greet()


def test_a_lack_of_descriptors_is_survived(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = trio.SocketListener.accept
    failures: list[int] = []

    async def accept(self: trio.SocketListener) -> trio.SocketStream:
        if len(failures) < 2:
            failures.append(1)
            raise OSError(errno.EMFILE, "Too many open files")
        return await real(self)

    monkeypatch.setattr(trio.SocketListener, "accept", accept)
    with ServerThread(directory / "s") as server, RawClient(server.path) as client:
        client.greet()
        assert len(failures) == 2


def test_stopping_lets_requests_end_then_tells_them(directory: Path) -> None:
    with (
        ServerThread(directory / "s", limits=Limits(drain_s=0.3)) as server,
        RawClient(server.path).greet() as client,
        RawClient(server.path).greet() as idle,
    ):
        client.send([0, 1, "search", {"query": "wait"}])
        server.wait_until(lambda: server.memory.main.waiting == 1)
        stopper = threading.Thread(target=server.stop)
        stopper.start()
        assert idle.read() is None
        assert not server.path.exists()
        reply = client.read()
        assert (reply[1], reply[2]["code"]) == (1, "shutting_down")
        assert client.read() is None
        stopper.join()


def test_only_our_own_socket_file_is_removed(directory: Path) -> None:
    with ServerThread(directory / "s") as server:
        (directory / "new").write_text("of another daemon")
        os.replace(directory / "new", server.path)  # never missing, which ends the server
        server.stop()
        assert server.path.read_text() == "of another daemon"


def test_a_lost_socket_file_ends_the_server_by_name(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "SOCKET_CHECK_INTERVAL_S", 0.01)
    server = ServerThread(directory / "s").__enter__()
    os.unlink(server.path)
    wait_until(lambda: not server._thread.is_alive())
    assert isinstance(server._failure, ExceptionGroup)
    assert server._failure.subgroup(SocketPathError) is not None


def test_a_socket_handed_over_is_served_and_its_file_kept(directory: Path) -> None:
    sock = bind_socket(directory / "s")
    with ServerThread(directory / "s") as server:
        server.stop()
    sock.close()
    given = bind_socket(directory / "s")
    thread = ServerThread(directory / "s")
    thread.path = given  # type: ignore[assignment]
    with thread, RawClient(directory / "s") as client:
        client.greet()
    assert (directory / "s").exists()


def test_replies_that_no_client_reads_are_bounded_over_all_connections(directory: Path) -> None:
    limits = Limits(stall_s=3600, backlog_bytes=10_000_000)
    with ExitStack() as stack:
        server = stack.enter_context(ServerThread(directory / "s", limits=limits))
        quick = stack.enter_context(RawClient(server.path).greet())
        deaf = [stack.enter_context(RawClient(server.path).greet()) for _ in range(12)]
        # when: twelve clients ask for more than may wait, and read nothing
        for number, client in enumerate(deaf):
            client.send([0, 1, "search", {"query": f"big {2_000_000 + number}"}])
        server.wait_until(lambda: server.memory.agents["main"].searches >= 12)
        server.wait_until(lambda: server.daemon.open_connections <= 6)
        # then: those that most waits for are gone, the others and a client that reads are served
        assert server.daemon.backlog.total <= limits.backlog_bytes
        assert quick.call("search", {"query": "x"})[3]["hits"]
        replies = [client.read() for client in deaf]
        assert sum(reply is not None for reply in replies) == server.daemon.open_connections - 1 >= 4
    assert server.daemon.backlog.total == 0


def test_a_client_that_reads_gets_all_however_much_waits(directory: Path) -> None:
    with (
        ServerThread(
            directory / "s", limits=Limits(backlog_bytes=7_000_000, outgoing_bytes=2_000_000)
        ) as server,
        RawClient(server.path).greet() as client,
    ):
        for request_id in range(1, 20):
            client.send([0, request_id, "search", {"query": "big 1500000"}])
        replies = [client.read() for _ in range(1, 20)]
        assert sorted(reply[1] for reply in replies) == list(range(1, 20))
        server.wait_until(lambda: server.daemon.backlog.total == 0)
