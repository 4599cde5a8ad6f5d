"""A page server in a thread, and HTTP clients of it: a browser's requests, and another user's process."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import trio
from trio.testing import MockClock

from memd.page.access import Address, PageLimits
from memd.page.server import PageServer
from memd.rpc.server import serve
from memd_client import Client
from tests.support.sockets import STATE_TIMEOUT_S, ServerThread, wait_until


@dataclass(frozen=True)
class BrowserReply:
    """A response; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


class Visitor:
    """Sends the requests of one browser."""

    def __init__(self, url: str) -> None:
        place = urlsplit(url)
        assert place.port is not None
        self.link = url.removeprefix(f"http://{place.netloc}")
        self.port = place.port
        self.host = place.netloc
        self.cookie = ""

    def enter(self) -> Visitor:
        """Open the link, keep the cookie, and return self."""
        reply = self.ask("GET", self.link)
        assert reply.status == 200, reply
        self.cookie = reply.headers["set-cookie"].partition(";")[0]
        return self

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> BrowserReply:
        """Send a request on a new connection and return the response."""
        connection = self._begin(method, path, body, headers)
        try:
            response = connection.getresponse()
            told = {name.lower(): value for name, value in response.getheaders()}
            return BrowserReply(response.status, told, response.read())
        finally:
            connection.close()

    def call(
        self, request: str, params: Any = None, headers: Mapping[str, str | None] | None = None
    ) -> BrowserReply:
        """Make a request to the daemon as the page's script does."""
        own = {"Origin": f"http://{self.host}", "Content-Type": "application/json", "X-Memd": "1"}
        return self.ask(
            "POST", f"/api/{request}", json.dumps(params or {}).encode(), {**own, **(headers or {})}
        )

    @contextlib.contextmanager
    def events(self) -> Iterator[EventLines]:
        """Yield the event stream inside the block."""
        connection = self._begin("GET", "/api/events", None, None)
        response = connection.getresponse()
        try:
            assert response.status == 200, response.status
            yield EventLines(response)
        finally:
            response.close()
            connection.close()

    def raw(self, data: bytes) -> bytes:
        """Send raw bytes, and return everything received until the end."""
        with self.connected() as sock:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                sock.sendall(data)
            with contextlib.suppress(OSError):  # a refused client may be disconnected already
                sock.shutdown(socket.SHUT_WR)
            return read_all(sock)

    def connected(self) -> socket.socket:
        """Return a connection to the page's port."""
        return socket.create_connection(("127.0.0.1", self.port), STATE_TIMEOUT_S)

    def _begin(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str | None] | None
    ) -> http.client.HTTPConnection:
        """Send a request."""
        sent: dict[str, str | None] = {"Host": self.host, "Cookie": self.cookie or None}
        if body is not None:
            sent["Content-Length"] = str(len(body))
        sent.update(headers or {})
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=STATE_TIMEOUT_S)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in sent.items():
            if value is not None:
                connection.putheader(name, value)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.endheaders(body)
        return connection


class EventLines:
    """An event stream."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response

    def next_block(self) -> dict[str, str]:
        """Return the next lines up to an empty one, by field; a comment has the field ``""``."""
        block: dict[str, str] = {}
        while line := self._response.readline().decode().rstrip("\n"):
            name, _, value = line.partition(":")
            block[name] = value.strip()
        return block

    def next_event(self, kind: str) -> Any:
        """Return the next event of a kind, skipping others."""
        while True:
            block = self.next_block()
            assert block, "the stream has ended"
            if block.get("event") == kind:
                return json.loads(block["data"])


def read_all(sock: socket.socket) -> bytes:
    """Return everything received until the connection is closed."""
    said = bytearray()
    while True:
        try:
            data = sock.recv(65_536)
        except ConnectionResetError:
            break
        if not data:
            break
        said += data
    return bytes(said)


OTHER_USER_ID = 65_534

SEND_OVER_TCP = 'exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 9; printf "%s" "$2" >&3; cat <&3'
"""Command of the other user: every user can run a shell, but not an interpreter in a home directory."""


def can_be_another_user() -> bool:
    """Return whether a process of another user can be started here."""
    return os.geteuid() == 0 and shutil.which("bash") is not None


def ask_as_another_user(port: int, request: bytes) -> bytes:
    """Return the response to another user's process."""
    shell = shutil.which("bash")
    assert shell is not None
    said = subprocess.run(
        [shell, "-c", SEND_OVER_TCP, "talk", str(port), request.decode()],
        user=OTHER_USER_ID,
        group=OTHER_USER_ID,
        cwd="/",
        env={},
        capture_output=True,
        timeout=STATE_TIMEOUT_S,
        check=False,
    )
    assert said.returncode != 9, "the port could not be reached"
    return said.stdout


class PageThread(ServerThread):
    """A server that also serves the page."""

    def __init__(
        self,
        path: Path,
        *,
        folder: Path | None = None,
        page_limits: PageLimits | None = None,
        is_owned_by_user: Callable[[Address, Address], bool] = lambda ours, theirs: True,
    ) -> None:
        self.clock = MockClock()
        super().__init__(path, clock=self.clock)
        self.page = PageServer(
            "9.9",
            folder=folder or path.parent / "static",
            limits=page_limits,
            is_owned_by_user=is_owned_by_user,
        )
        self.daemon.open_page = self.page.show

    def __enter__(self) -> PageThread:
        super().__enter__()
        return self

    async def start(self, nursery: trio.Nursery) -> None:
        await nursery.start(self.page.run, await nursery.start(serve, self.path, self.memory, self.daemon))

    def link(self, agent: str | None = None) -> str:
        """Return the address of the page."""
        with Client(self.path) as client:
            return client.open_page(agent).url

    def visitor(self, agent: str | None = None) -> Visitor:
        """Return a visitor who has opened the page."""
        return Visitor(self.link(agent)).enter()

    def pass_time(self, seconds: float) -> None:
        """Move the clock forward once all tasks are waiting."""
        passed = threading.Event()

        async def jump() -> None:
            await trio.testing.wait_all_tasks_blocked(0.01)
            self.clock.jump(seconds)
            await trio.testing.wait_all_tasks_blocked(0.01)
            passed.set()

        self._token.run_sync_soon(trio.lowlevel.spawn_system_task, jump)
        assert passed.wait(STATE_TIMEOUT_S)

    def wait_closed(self) -> None:
        """Wait until the page accepts no connections."""
        wait_until(lambda: "closed" in repr(self.page))
