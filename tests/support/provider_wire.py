"""HTTP side of `provider_server`: responses, and faults while sending them."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol
from urllib.parse import urlsplit

from tests.support.provider_dialects import HttpRequest
from tests.support.provider_errors import ProviderReply
from tests.support.provider_faults import Fault

GIANT_BYTES = 80 * 1_048_576
"""A body larger than any client may accept."""

DRIP_S = 0.02
"""Pause between the bytes of a dripping response: no read waits long, but the response never ends."""

HTML = b"<!DOCTYPE html><html><body><h1>Welcome to the guest network</h1></body></html>"


class ReplySource(Protocol):
    """Returns responses to requests."""

    closing: threading.Event

    def answer(self, asked: HttpRequest) -> tuple[ProviderReply, Fault | None]:
        """Return a response, and the fault while it is sent."""


class _Server(ThreadingHTTPServer):
    """Joins its threads at the end, after closing their connections."""

    daemon_threads = False
    request_queue_size = 128

    def __init__(self, answering: ReplySource) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answering = answering
        self.connections: set[socket.socket] = set()
        self.lock = threading.Lock()

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore errors: clients disconnect early, and responses break on purpose."""

    def hang_up(self) -> None:
        """Close every connection, so that no thread waits for another request."""
        with self.lock:
            for connection in self.connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        super().setup()
        with self.server.lock:
            self.server.connections.add(self.connection)
        if self.server.answering.closing.is_set():
            self.server.hang_up()

    def finish(self) -> None:
        with self.server.lock:
            self.server.connections.discard(self.connection)
        super().finish()

    def _serve(self) -> None:
        with suppress(ConnectionError):
            length = int(self.headers.get("Content-Length") or 0)
            parts = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = HttpRequest(self.command, parts.path, parts.query, headers, self.rfile.read(length))
            self._send(*self.server.answering.answer(asked))

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def log_message(self, *args: object) -> None:
        """Log nothing."""

    def _send(self, reply: ProviderReply, fault: Fault | None) -> None:
        """Send a response, with a fault applied."""
        body, kind = reply.body, fault.kind if fault is not None else None
        if self.server.answering.closing.is_set():
            self.close_connection = True
        elif kind == "drip" and fault is not None:
            self._head(reply, 1_000_000)
            self._drip(body, fault)
        elif kind == "giant":
            self._giant(reply)
        elif kind in ("reset", "hangup", "cut_short"):
            self.close_connection = True
            if kind != "hangup":
                self._head(reply, len(body))
                self.wfile.write(body[: len(body) // 2])
            if kind == "reset":
                self._reset()
        else:
            if kind == "truncated":
                body = body[: len(body) // 2]
            elif kind == "html":
                reply, body = ProviderReply(200, HTML, {"Content-Type": "text/html"}), HTML
            elif kind == "empty":
                body = b"{}"
            self._head(reply, len(body))
            self.wfile.write(body)

    def _head(self, reply: ProviderReply, length: int | None) -> None:
        """Send status and headers."""
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if length is None:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def _drip(self, body: bytes, fault: Fault) -> None:
        """Send single bytes until the fault is removed, then close the connection."""
        self.close_connection = True
        for number in range(1_000_000):
            self.wfile.write(body[number : number + 1] or b" ")
            if fault.released.wait(DRIP_S) or self.server.answering.closing.is_set():
                return

    def _giant(self, reply: ProviderReply) -> None:
        """Send an endless body in parts."""
        self._head(reply, None)
        piece = b"0.1, " * 200_000
        for _ in range(0, GIANT_BYTES, len(piece)):
            self.wfile.write(b"%x\r\n" % len(piece) + piece + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")

    def _reset(self) -> None:
        """Reset the connection."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with self.server.lock:
            self.server.connections.discard(self.connection)
        os.close(self.connection.detach())


@contextmanager
def serve_http(answering: ReplySource) -> Iterator[str]:
    """Listen inside the block and yield the address, `http://127.0.0.1:<port>`."""
    http = _Server(answering)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_address[1]}"
    finally:
        answering.closing.set()
        http.shutdown()
        http.hang_up()
        http.server_close()
        thread.join()
