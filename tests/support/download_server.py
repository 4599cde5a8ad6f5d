"""A loopback file server with optional faults, byte ranges and redirects."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class DownloadServer:
    """One file at any path.

    Set `body`, `etag`, `status`, `linked_etag`, `knows_ranges` as needed. Each request takes the first number of
    `break_after`, and its connection breaks after so many bytes. `redirect` is the target of every request. `token`, if
    set, is required. `shifted` makes a range begin so many bytes too late. Each response waits for `gate`. `on_half` is
    called before the second half of a body is sent.
    """

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.etag = '"v1"'
        self.linked_etag = ""
        self.status = 200
        self.knows_ranges = True
        self.break_after: list[int] = []
        self.redirect = ""
        self.token = ""
        self.shifted = 0
        self.gate = threading.Event()
        self.gate.set()
        self.on_half: Callable[[], None] = lambda: None
        self.asked: list[tuple[str, str]] = []
        self.authorizations: list[str] = []
        self.url = ""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        wanted = handler.headers.get("Range", "")
        self.asked.append((handler.path, wanted))
        self.authorizations.append(handler.headers.get("Authorization", ""))
        self.gate.wait(20)
        start = int(wanted[6:-1]) if wanted else 0
        partial = bool(wanted) and self.knows_ranges and handler.headers.get("If-Range") == self.etag
        if self.redirect:
            self._head(handler, 302, 0, ("Location", self.redirect + handler.path))
        elif self.token and self.authorizations[-1] != f"Bearer {self.token}":
            self._head(handler, 401, 0)
        elif self.status != 200:
            self._head(handler, self.status, 0)
        elif partial and start >= len(self.body):
            self._head(handler, 416, 0, ("Content-Range", f"bytes */{len(self.body)}"))
        elif partial:
            start += self.shifted
            whole = len(self.body)
            self._send(
                handler, 206, self.body[start:], ("Content-Range", f"bytes {start}-{whole - 1}/{whole}")
            )
        else:
            self._send(handler, 200, self.body)

    def _head(self, handler: BaseHTTPRequestHandler, status: int, size: int, *more: tuple[str, str]) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", str(size))
        handler.send_header("ETag", self.etag)
        if self.linked_etag:
            handler.send_header("X-Linked-ETag", f'"{self.linked_etag}"')
        for name, value in more:
            handler.send_header(name, value)
        handler.end_headers()

    def _send(
        self, handler: BaseHTTPRequestHandler, status: int, data: bytes, *more: tuple[str, str]
    ) -> None:
        self._head(handler, status, len(data), *more)
        if self.break_after:
            data = data[: self.break_after.pop(0)]
            handler.close_connection = True
        handler.wfile.write(data[: len(data) // 2])
        self.on_half()
        handler.wfile.write(data[len(data) // 2 :])


@contextmanager
def serve_download(body: bytes) -> Iterator[DownloadServer]:
    """Run a server inside the block."""
    server = DownloadServer(body)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with suppress(ConnectionError):  # the client may disconnect early
                server.answer(self)

        def log_message(self, *args: object) -> None:
            """Log nothing."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_address[1]}"
    try:
        yield server
    finally:
        server.gate.set()
        http.shutdown()
        http.server_close()
        thread.join()
