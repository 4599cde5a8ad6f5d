"""A page server in a thread, and peers that visit it: a browser by hand, and another user of the machine."""

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
from tests.support.sockets import PATIENCE_S, ServerThread, wait_until


@dataclass(frozen=True)
class Reply:
    """What was answered; names of headers in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


class Visitor:
    """One browser."""

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
    ) -> Reply:
        """Make one request on a connection of its own and return the answer."""
        connection = self._begin(method, path, body, headers)
        try:
            response = connection.getresponse()
            told = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, told, response.read())
        finally:
            connection.close()

    def call(
        self, request: str, params: Any = None, headers: Mapping[str, str | None] | None = None
    ) -> Reply:
        """Make a request to the daemon as the page's script does."""
        own = {"Origin": f"http://{self.host}", "Content-Type": "application/json", "X-Memd": "1"}
        return self.ask(
            "POST", f"/api/{request}", json.dumps(params or {}).encode(), {**own, **(headers or {})}
        )

    @contextlib.contextmanager
    def events(self) -> Iterator[EventLines]:
        """Give the event stream inside the block."""
        connection = self._begin("GET", "/api/events", None, None)
        response = connection.getresponse()
        try:
            assert response.status == 200, response.status
            yield EventLines(response)
        finally:
            response.close()
            connection.close()

    def raw(self, data: bytes) -> bytes:
        """Send bytes as they are, and return everything that comes until the end."""
        with self.connected() as sock:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                sock.sendall(data)
            with contextlib.suppress(OSError):  # who is turned away may be cut off already
                sock.shutdown(socket.SHUT_WR)
            return read_all(sock)

    def connected(self) -> socket.socket:
        """Return a connection to the page's port."""
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE_S)

    def _begin(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str | None] | None
    ) -> http.client.HTTPConnection:
        """Send a request."""
        sent: dict[str, str | None] = {"Host": self.host, "Cookie": self.cookie or None}
        if body is not None:
            sent["Content-Length"] = str(len(body))
        sent.update(headers or {})
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
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
        """Return the next event of a kind; others are passed over."""
        while True:
            block = self.next_block()
            assert block, "the stream has ended"
            if block.get("event") == kind:
                return json.loads(block["data"])


def read_all(sock: socket.socket) -> bytes:
    """Return everything a connection says until it is closed."""
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


NOBODY = 65_534

TALK = 'exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 9; printf "%s" "$2" >&3; cat <&3'
"""What the stranger runs: a shell is there for everybody, an interpreter in somebody's home is not."""


def can_be_another_user() -> bool:
    """Return whether a process of another user can be started here."""
    return os.geteuid() == 0 and shutil.which("bash") is not None


def ask_as_another_user(port: int, request: bytes) -> bytes:
    """Return what another user's process is answered."""
    shell = shutil.which("bash")
    assert shell is not None
    said = subprocess.run(
        [shell, "-c", TALK, "talk", str(port), request.decode()],
        user=NOBODY,
        group=NOBODY,
        cwd="/",
        env={},
        capture_output=True,
        timeout=20,
        check=False,
    )
    assert said.returncode != 9, "the port could not be reached"
    return said.stdout


class PageThread(ServerThread):
    """A server that shows the page as well."""

    def __init__(
        self,
        path: Path,
        *,
        folder: Path | None = None,
        page_limits: PageLimits | None = None,
        may_enter: Callable[[Address, Address], bool] = lambda ours, theirs: True,
    ) -> None:
        self.clock = MockClock()
        super().__init__(path, clock=self.clock)
        self.page = PageServer(
            "9.9", folder=folder or path.parent / "static", limits=page_limits, may_enter=may_enter
        )
        self.daemon.show = self.page.show

    def __enter__(self) -> PageThread:
        super().__enter__()
        return self

    async def start(self, nursery: trio.Nursery) -> None:
        await nursery.start(self.page.run, await nursery.start(serve, self.path, self.memory, self.daemon))

    def link(self, agent: str | None = None) -> str:
        """Return the address of the page."""
        with Client(self.path) as client:
            return client.show(agent).url

    def visitor(self, agent: str | None = None) -> Visitor:
        """Return somebody who has opened the page."""
        return Visitor(self.link(agent)).enter()

    def pass_time(self, seconds: float) -> None:
        """Let so many seconds pass at once, when everything that could be done was."""
        passed = threading.Event()

        async def jump() -> None:
            await trio.testing.wait_all_tasks_blocked(0.01)
            self.clock.jump(seconds)
            await trio.testing.wait_all_tasks_blocked(0.01)
            passed.set()

        self._token.run_sync_soon(trio.lowlevel.spawn_system_task, jump)
        assert passed.wait(PATIENCE_S)

    def wait_closed(self) -> None:
        """Wait until nobody can connect any more."""
        wait_until(lambda: "closed" in repr(self.page))
