"""A loopback HTTP server with a given behaviour."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial

import trio

from memd.embedding.remote.endpoint import ApiRequest, HttpReply, Timeouts
from memd.embedding.remote.http import HttpClient
from memd_client.errors import MemdError

KEY = "sk-test-0123456789abcdef"
LONG = Timeouts(connect_s=5, read_s=20, write_s=20, total_s=20)

Behaviour = Callable[[trio.SocketStream], Awaitable[None]]
"""Called after each complete request."""


class HttpPeer:
    """A server with one behaviour. `asked` are the raw requests; `connections` counts."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.asked: list[bytes] = []
        self.connections = 0
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1/embeddings"

    async def handle(self, stream: trio.SocketStream) -> None:
        self.connections += 1
        try:
            while request := await read_request(stream):
                self.asked.append(request)
                await self.behaviour(stream)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # the client closed the connection


async def read_request(stream: trio.SocketStream) -> bytes:
    """Return one request, empty at the end of the connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = await stream.receive_some(65536)
        if not piece:
            return b""
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    missing = int(lengths[0].split(b":")[1]) - len(body) if lengths else 0
    while missing > 0:
        piece = await stream.receive_some(65536)
        if not piece:
            return b""
        data += piece
        missing -= len(piece)
    return data


@asynccontextmanager
async def run_peer(behaviour: Behaviour) -> AsyncIterator[tuple[HttpPeer, HttpClient]]:
    """Yield a server on loopback and the HttpClient under test."""
    peer, http = HttpPeer(behaviour), HttpClient()
    async with trio.open_nursery() as nursery:
        serve = partial(trio.serve_tcp, peer.handle, 0, host="127.0.0.1")
        listeners: list[trio.SocketListener] = await nursery.start(serve)
        peer.port = listeners[0].socket.getsockname()[1]
        try:
            yield peer, http
        finally:
            await http.aclose()
            nursery.cancel_scope.cancel()


def reply_with(status: str, body: bytes = b"", **headers: str) -> Behaviour:
    """Return the behaviour of a server with this response."""
    named = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    whole = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{named}\r\n".encode() + body

    async def answer(stream: trio.SocketStream) -> None:
        await stream.send_all(whole)

    return answer


def request(
    url: str, body: bytes = b'{"input":["a"]}', headers: Mapping[str, str] | None = None
) -> ApiRequest:
    """Return a request with a key."""
    return ApiRequest("POST", url, {"Authorization": f"Bearer {KEY}", **(headers or {})}, body)


def send_to(
    behaviour: Behaviour,
    timeouts: Timeouts = LONG,
    max_bytes: int = 1_000_000,
    headers: Mapping[str, str] | None = None,
) -> tuple[HttpReply | MemdError, HttpPeer]:
    """Return the outcome of one request, and the server that received it."""

    async def run() -> tuple[HttpReply | MemdError, HttpPeer]:
        with trio.fail_after(120):
            async with run_peer(behaviour) as (peer, http):
                try:
                    return await http.send(
                        request(peer.url, headers=headers), timeouts, max_bytes=max_bytes
                    ), peer
                except MemdError as error:
                    return error, peer

    return trio.run(run)
