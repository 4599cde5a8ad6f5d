"""Failures of `memctl mcp`: no daemon, malformed lines, clients that stop."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from mcp import McpError

from memd_client import Client
from tests.support.daemon import DaemonProcess
from tests.support.mcp_session import RawServer, mcp_session, text_of
from tests.support.scripted_daemon import ScriptedDaemon, ScriptedPeer
from tests.support.state_homes import KEYWORD_ONLY, StateHome

DEADLINE_S = 120.0

SEARCH: dict[str, Any] = {"name": "memory_search", "arguments": {"query": "gateway"}}


@pytest.fixture
def home() -> Iterator[StateHome]:
    """A home with one note."""
    with StateHome(KEYWORD_ONLY) as home:
        home.note("MEMORY.md", "# Memory\n\nThe gateway listens on 8443.\n")
        yield home


def test_tools_are_listed_without_a_daemon_and_a_call_returns_a_hint(home: StateHome) -> None:
    async def drive() -> Any:
        async with mcp_session(home.environ()) as session:
            tools = (await session.list_tools()).tools
            answer = await session.call_tool(**SEARCH)
            with pytest.raises(McpError, match="daemon_unreachable"):
                await session.list_resources()
            return tools, answer

    tools, answer = asyncio.run(drive())

    assert len(tools) == 13, "whether there is work is not known"
    assert "enum" not in tools[0].inputSchema["properties"]["agent"]
    assert answer.isError
    assert "daemon_unreachable" in text_of(answer)
    assert "start the daemon with `memd`" in text_of(answer)


def test_daemon_is_started_if_none_runs(home: StateHome) -> None:
    async def drive() -> Any:
        async with mcp_session(home.environ(), autostart=True) as session:
            return await session.call_tool(**SEARCH, read_timeout_seconds=timedelta(seconds=30))

    try:
        answer = asyncio.run(drive())
    finally:
        with Client(home.socket) as client:
            os.kill(client.status().pid, signal.SIGTERM)

    assert "8443" in text_of(answer)


def test_restarted_daemon_is_reached_again(home: StateHome) -> None:
    async def drive(daemon: DaemonProcess) -> list[Any]:
        async with mcp_session(home.environ()) as session:
            answers = [await session.call_tool(**SEARCH)]
            await asyncio.to_thread(daemon.kill)
            answers.append(await session.call_tool(**SEARCH))
            await asyncio.to_thread(daemon.start)
            answers.append(await session.call_tool(**SEARCH))
            return answers

    with DaemonProcess(home) as daemon:
        before, away, after = asyncio.run(drive(daemon))

    assert "8443" in text_of(before)
    assert away.isError
    assert "8443" in text_of(after)


def test_malformed_lines_get_an_error_or_are_ignored(home: StateHome) -> None:
    calls: list[dict[str, Any] | bytes] = [
        b"this is no JSON",
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_search","arguments":{"query":"\\ud800"}}}',
        {"jsonrpc": "2.0", "id": 2, "method": "memory/everything"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"arguments": {}}},
        {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {**SEARCH, "arguments": ["gateway"]}},
        {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {**SEARCH, "arguments": "{nonsense"}},
        {
            "jsonrpc": "2.0",
            "id": 6,
            "method": "tools/call",
            "params": {**SEARCH, "arguments": '{"query": "gateway"}'},
        },
        {"jsonrpc": "2.0", "id": 7, "method": "resources/read", "params": {}},
    ]
    with DaemonProcess(home), RawServer(home.environ()) as server:
        server.greet()
        server.say(*calls)
        answers = {each["id"]: each for each in (server.hear() for _ in range(7))}
        said = server.hang_up()

    assert sorted(answers) == [1, 2, 3, 4, 5, 6, 7]
    assert answers[1]["error"]["code"] == -32600
    assert answers[2]["error"] == {"code": -32601, "message": "no method 'memory/everything'"}
    assert "needs `name`" in answers[3]["error"]["message"]
    for number in (4, 5):
        assert answers[number]["result"]["isError"]
        assert "`arguments` must be a JSON object" in answers[number]["result"]["content"][0]["text"]
    assert "8443" in answers[6]["result"]["content"][0]["text"]
    assert answers[7]["error"]["code"] == -32602
    assert said == "memctl mcp: ignored a line that is not a JSON-RPC message\n"


def test_progress_of_the_daemon_reaches_the_client() -> None:
    def script(connection: socket.socket) -> None:
        peer = ScriptedPeer(connection).greet()
        request = peer.read()
        for stage, done in (("reading", 1), ("reading", 2), ("embedding", 1)):
            facts = {"id": request[1], "stage": stage, "done": done, "total": 2, "detail": ""}
            peer.tell("progress", facts)
        result = {"results": [], "mode": "keyword"}
        peer.answer(
            request[1], {"agent": "main", "name": "memory_search", "ok": True, "result": result, "text": "{}"}
        )

    told: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async def drive(path: Path) -> None:
        async with mcp_session({"MEMD_SOCKET": str(path)}, "--agent", "main") as session:
            await session.call_tool(**SEARCH, progress_callback=hear)

    with StateHome() as home:
        path = home.root / "scripted.sock"
        with ScriptedDaemon(path, script):
            asyncio.run(drive(path))

    assert told == [(1, 2, "reading"), (2, 2, "reading"), (3, 4, "embedding")]


def test_cancelled_call_is_cancelled_in_the_daemon() -> None:
    seen: list[Any] = []
    asked, cancelled = threading.Event(), threading.Event()

    def script(connection: socket.socket) -> None:
        peer = ScriptedPeer(connection).greet()
        seen.append(peer.read())
        asked.set()
        seen.append(peer.read())
        cancelled.set()

    call = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": SEARCH}
    given_up = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}
    with StateHome() as home:
        path = home.root / "scripted.sock"
        with ScriptedDaemon(path, script), RawServer({"MEMD_SOCKET": str(path)}, "--agent", "main") as server:
            server.greet()
            server.say(call)
            assert asked.wait(DEADLINE_S)
            server.say(given_up)
            assert cancelled.wait(DEADLINE_S)
            server.say({"jsonrpc": "2.0", "id": 6, "method": "ping"})
            assert server.hear()["id"] == 6, "a cancelled request gets no reply"

    assert [request[2] for request in seen] == ["call_tool", "cancel"]
    assert seen[1][3] == {"id": seen[0][1]}


def test_client_that_disconnects_amid_a_call_ends_the_server() -> None:
    asked = threading.Event()

    def script(connection: socket.socket) -> None:
        peer = ScriptedPeer(connection).greet()
        peer.read()
        asked.set()

    call = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": SEARCH}
    with StateHome() as home:
        path = home.root / "scripted.sock"
        with ScriptedDaemon(path, script), RawServer({"MEMD_SOCKET": str(path)}) as server:
            server.greet()
            server.say(call)
            assert asked.wait(DEADLINE_S)
            assert server.hang_up() == ""


def test_interrupted_server_ends_at_once(home: StateHome) -> None:
    with RawServer(home.environ()) as server:
        server.greet()

        server.interrupt()

        assert server.wait() == ""


def test_client_that_dies_leaves_no_traceback(home: StateHome) -> None:
    with RawServer(home.environ()) as server:
        server.greet()
        server.close_output()
        server.say({"jsonrpc": "2.0", "id": 1, "method": "ping"})

        server.close_input()

        assert server.wait() == ""


def test_first_reply_follows_the_greeting_directly(home: StateHome) -> None:
    with DaemonProcess(home) as daemon:
        with daemon.client() as client:
            client.search("gateway")
        with RawServer(home.environ()) as server:
            server.greet()
            server.say({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": SEARCH})
            answer = server.hear()
            server.hang_up()

    assert "8443" in answer["result"]["content"][0]["text"]
