"""A loopback file server that can break in the middle, know ranges or not, and say what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class DownloadServer:
    """One file at any path.

    Set `body`, `etag`, `status`, `linked_etag`, `knows_ranges` as needed. `break_after` is a list: each
    request takes its first number and the connection breaks after so many bytes of it.
    """

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.etag = '"v1"'
        self.linked_etag = ""
        self.status = 200
        self.knows_ranges = True
        self.break_after: list[int] = []
        self.asked: list[tuple[str, str]] = []
        self.url = ""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        wanted = handler.headers.get("Range", "")
        self.asked.append((handler.path, wanted))
        start = int(wanted[6:-1]) if wanted else 0
        partial = bool(wanted) and self.knows_ranges and handler.headers.get("If-Range") == self.etag
        data = self.body[start:] if partial else self.body
        handler.send_response(206 if partial and self.status == 200 else self.status)
        handler.send_header("Content-Length", str(len(data)))
        handler.send_header("ETag", self.etag)
        if self.linked_etag:
            handler.send_header("X-Linked-ETag", f'"{self.linked_etag}"')
        handler.end_headers()
        if self.break_after:
            data = data[: self.break_after.pop(0)]
            handler.close_connection = True
        handler.wfile.write(data)


@contextmanager
def serving(body: bytes) -> Iterator[DownloadServer]:
    """Run a server inside the block."""
    server = DownloadServer(body)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with suppress(ConnectionError):  # the client may go in the middle
                server.answer(self)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_address[1]}"
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
