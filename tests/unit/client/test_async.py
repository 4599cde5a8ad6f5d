"""The asyncio and trio clients: the contract of all clients, and what tasks and cancellation add to it."""

from __future__ import annotations

import asyncio
import inspect
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from memd_client import aio, blocking, discovery
from memd_client import trio as trio_client
from memd_client.errors import BadParamsError, ConnectionLostError, FrameTooBigError, SocketPathError
from tests.contracts.client import ClientContract
from tests.contracts.client_streams import StreamContract
from tests.support.blocking_clients import BlockingAsyncioClient, BlockingLoopClient, BlockingTrioClient
from tests.support.scripted_daemon import ScriptedDaemon, ScriptedPeer
from tests.support.sockets import ServerThread, short_directory, wait_until

SHELLS = [BlockingAsyncioClient, BlockingTrioClient]


class TestAsyncioClient(ClientContract, StreamContract):
    """The contracts."""

    def make_client(self, path: Path, **options: Any) -> BlockingAsyncioClient:
        return BlockingAsyncioClient(path, **options)


class TestTrioClient(ClientContract, StreamContract):
    """The contracts."""

    def make_client(self, path: Path, **options: Any) -> BlockingTrioClient:
        return BlockingTrioClient(path, **options)


PUBLIC = sorted(
    name
    for name, value in inspect.getmembers(blocking.Client)
    if not name.startswith("_") and callable(value)
)


def test_the_blocking_client_has_public_methods_to_compare() -> None:
    assert {"search", "follow", "subscribe", "request", "close"} <= set(PUBLIC)


@pytest.mark.parametrize("kind", [aio.AsyncioClient, trio_client.TrioClient])
@pytest.mark.parametrize("name", PUBLIC)
def test_event_loop_clients_have_the_signatures_of_the_blocking_client(kind: type[Any], name: str) -> None:
    theirs, ours = getattr(blocking.Client, name), getattr(kind, name)

    assert inspect.signature(ours).parameters == inspect.signature(theirs).parameters
    assert "self" not in inspect.signature(getattr(kind("/tmp/s"), name)).parameters
    assert ours.__doc__
    assert inspect.iscoroutinefunction(ours) == (name not in {"follow", "subscribe"})


@pytest.mark.parametrize("kind", [aio.AsyncioClient, trio_client.TrioClient])
def test_all_clients_take_the_same_options(kind: type[Any]) -> None:
    assert inspect.signature(kind).parameters == inspect.signature(blocking.Client).parameters
    with pytest.raises(SocketPathError, match="bytes long"):
        kind("/tmp/" + "x" * 120)


@pytest.fixture
def server() -> Iterator[ServerThread]:
    with short_directory() as directory, ServerThread(directory / "s") as running:
        yield running


@pytest.fixture(params=SHELLS, ids=lambda kind: kind.__name__)
def shell_kind(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_cancelling_a_task_stops_its_request_and_keeps_the_connection(
    shell_kind: type[BlockingLoopClient], server: ServerThread
) -> None:
    with shell_kind(server.path) as shell:
        shell.search("x")
        connection = shell.client._connection
        asking = shell.start("search", "wait")
        beside = shell.start("search", "pair")
        server.wait_until(lambda: server.memory.main.waiting == 1)
        asking.cancel()
        asking.result()
        assert asking.was_cancelled
        server.wait_until(lambda: server.memory.main.cancelled == 1)
        assert shell.search("pair").hits
        assert beside.result().hits
        assert shell.client._connection is connection
        assert "0 waiting, 0 abandoned" in repr(shell)
        assert server.daemon.open_connections == 1


def test_a_task_cancelled_while_connecting_does_not_block_the_next_one(
    shell_kind: type[BlockingLoopClient],
) -> None:
    reached: list[Any] = []

    def hang(connection: socket.socket) -> None:
        reached.append(ScriptedPeer(connection).read())

    def serve(connection: socket.socket) -> None:
        peer = ScriptedPeer(connection).greet()
        peer.answer(peer.read()[1], {"agents": []})

    with (
        short_directory() as directory,
        ScriptedDaemon(directory / "s", hang, serve),
        shell_kind(directory / "s") as shell,
    ):
        first = shell.start("index")
        wait_until(lambda: reached)
        second = shell.start("index")
        first.cancel()
        first.result()
        assert first.was_cancelled
        assert second.result().agents == []


def test_closing_while_a_task_connects_ends_it(shell_kind: type[BlockingLoopClient]) -> None:
    reached: list[Any] = []

    def hang(connection: socket.socket) -> None:
        reached.append(ScriptedPeer(connection).read())

    with short_directory() as directory, ScriptedDaemon(directory / "s", hang):
        shell = shell_kind(directory / "s")
        asking = shell.start("hello")
        wait_until(lambda: reached)
        shell.close()
        with pytest.raises(ConnectionLostError, match="closed"):
            asking.result()


def test_an_exception_of_a_progress_callback_cancels_the_request(
    shell_kind: type[BlockingLoopClient], server: ServerThread
) -> None:
    def fail(_: object) -> None:
        raise ZeroDivisionError

    with shell_kind(server.path) as shell:
        with pytest.raises(ZeroDivisionError):
            shell.index("main", on_progress=fail)
        assert shell.search("x").hits
        assert "<AsyncConnection 0 waiting" in repr(shell)


def test_an_unencodable_request_leaves_the_connection_usable(
    shell_kind: type[BlockingLoopClient], server: ServerThread
) -> None:
    with shell_kind(server.path) as shell:
        with pytest.raises(FrameTooBigError):
            shell.embed(["x" * (17 * 1024 * 1024)])
        with pytest.raises(BadParamsError):
            shell.search({1, 2})
        assert shell.search("x").hits
        assert server.daemon.open_connections == 1


def test_an_unopened_client_raises_an_error_with_a_hint(
    shell_kind: type[BlockingLoopClient], server: ServerThread
) -> None:
    with shell_kind(server.path) as shell:
        fresh = shell.kind(server.path)
        assert repr(fresh).endswith("not open>")
        with pytest.raises(ConnectionLostError, match="not open yet") as caught:
            shell.submit(fresh.hello).result()
        assert "async with" in caught.value.hint


def test_a_closed_client_can_not_be_reopened(
    shell_kind: type[BlockingLoopClient], server: ServerThread
) -> None:
    with shell_kind(server.path) as shell:
        shell.submit(shell.client.close).result()
        with pytest.raises(ConnectionLostError, match="closed"):
            shell.search("x")
        with pytest.raises(ConnectionLostError, match="opened before"):
            shell.submit(shell.client.__aenter__).result()


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_autostart_starts_the_daemon_if_none_runs(
    shell_kind: type[BlockingLoopClient], monkeypatch: pytest.MonkeyPatch, is_cancelled: bool
) -> None:
    stub = [sys.executable, "-m", "tests.support.stub_daemon", *(["hang"] if is_cancelled else [])]
    monkeypatch.setattr(discovery, "daemon_command", lambda: stub)
    started: list[Any] = []
    monkeypatch.setattr(discovery, "_started", started)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["client", "daemon", "."]))
    with short_directory() as directory:
        with shell_kind(directory / "s", autostart=True) as shell:
            asking = shell.start("hello")
            if is_cancelled:
                wait_until(Path(discovery.log_path(str(directory / "s"))).exists)
                asking.cancel()
                asking.result()
                assert asking.was_cancelled
            else:
                assert asking.result().version == "stub"
        wait_until(lambda: started)  # the thread that waited for it has ended
        started[0].terminate()
        started[0].wait(120)


async def fail_inside(client: Any, error: BaseException) -> None:
    async with client:
        await client.hello()
        raise error


def test_an_exception_leaves_the_client_block_unchanged(server: ServerThread) -> None:
    with pytest.raises(ZeroDivisionError):
        asyncio.run(fail_inside(aio.AsyncioClient(server.path), ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        trio.run(fail_inside, trio_client.TrioClient(server.path), ZeroDivisionError())


async def fail_in_a_cancelled_block(path: Path) -> None:
    with trio.CancelScope() as scope:
        async with trio_client.TrioClient(path) as client:
            await client.hello()
            scope.cancel()
            raise ZeroDivisionError


async def test_under_trio_an_outer_cancellation_does_not_replace_an_exception(
    server: ServerThread,
) -> None:
    with pytest.raises(ZeroDivisionError):
        await fail_in_a_cancelled_block(server.path)


async def test_under_trio_a_cancelled_block_may_send_requests_while_it_cleans_up(
    server: ServerThread,
) -> None:
    seen: list[str] = []

    with trio.CancelScope() as scope:
        async with trio_client.TrioClient(server.path) as client:
            await client.hello()
            scope.cancel()
            try:
                await client.search("wait")
            finally:
                with trio.CancelScope(shield=True):
                    seen.append((await client.search("last words")).hits[0].snippet)
    assert scope.cancelled_caught
    assert seen == ["last words"]
    await trio.to_thread.run_sync(server.wait_until, lambda: server.daemon.open_connections == 0)


def test_under_asyncio_the_callers_timeout_cancels_the_request(server: ServerThread) -> None:
    async def main() -> None:
        async with aio.AsyncioClient(server.path) as client:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await client.search("wait")
            assert (await client.search("x")).hits

    asyncio.run(main())
    server.wait_until(lambda: server.memory.main.cancelled == 1)


def test_under_asyncio_the_block_leaves_no_background_task(server: ServerThread) -> None:
    async def main() -> None:
        async with aio.AsyncioClient(server.path) as client:
            await client.hello()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
    server.wait_until(lambda: server.daemon.open_connections == 0)


def test_tasks_started_and_cancelled_at_random_keep_the_connection_usable(
    shell_kind: type[BlockingLoopClient], server: ServerThread
) -> None:
    """Requests are cancelled before, during and after sending; each task gets its own reply."""
    with shell_kind(server.path) as shell:
        shell.hello()
        connection = shell.client._connection
        handles = []
        for number in range(150):
            query = (
                "wait" if number % 10 == 0 else f"big {1 + number * 97 % 5000}" if number % 3 else str(number)
            )
            handle = shell.start("search", query)
            handles.append((query, handle))
            if number % 2 == 0:
                handle.cancel()
            if number % 40 == 39:
                shell.search("a breath")
        for query, handle in handles:
            reply = handle.result()
            if reply is not None:
                snippet = reply.hits[0].snippet
                assert snippet == query or query == f"big {len(snippet)}"
        assert shell.client._connection is connection
        assert "<AsyncConnection 0 waiting, <ClientSession ready, 0 waiting" in repr(shell)
