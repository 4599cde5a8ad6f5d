"""An OpenAI-compatible endpoint on the loopback interface whose vectors are nearly free.

    python -m benchmarks.vector_server

Prints its address and serves until its standard input closes. It is a process of its own, so that its CPU time does not
count as its client's. A text's vector is one of a few thousand prepared ones, chosen by the text's checksum.
"""

from __future__ import annotations

import base64
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks.corpus import random_vectors

POOL: Final = 4_096
"""Number of different vectors."""

MODEL: Final = "near-free"


class _Asked(msgspec.Struct):
    """What is read of a request."""

    input: list[str]
    encoding_format: str = "float"


@cache
def pool() -> NDArray[np.float32]:
    """Return all vectors, the same ones in every process."""
    return random_vectors(POOL, np.random.default_rng(17))


def vector_of(text: str) -> NDArray[np.float32]:
    """Return a text's vector, unit length."""
    vector: NDArray[np.float32] = pool()[_place(text)]
    return vector


def _place(text: str) -> int:
    return zlib.crc32(text.encode()) % POOL


@cache
def _encoded(encoding: str) -> list[bytes]:
    """Return all vectors in the encoding of a reply."""
    if encoding == "base64":
        return [b'"' + base64.b64encode(row.astype("<f4").tobytes()) + b'"' for row in pool()]
    return [msgspec.json.encode(row.tolist()) for row in pool()]


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        asked = msgspec.json.decode(self.rfile.read(length), type=_Asked)
        rows = _encoded(asked.encoding_format)
        items = b",".join(
            b'{"object":"embedding","index":%d,"embedding":%b}' % (number, rows[_place(text)])
            for number, text in enumerate(asked.input)
        )
        usage = b'{"prompt_tokens":%d,"total_tokens":%d}' % ((len(asked.input),) * 2)
        body = b'{"object":"list","model":"%b","data":[%b],"usage":%b}' % (MODEL.encode(), items, usage)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@contextmanager
def running_server() -> Iterator[str]:
    """Run the server process inside the block; yield its base URL."""
    command = [sys.executable, "-m", "benchmarks.vector_server"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def main() -> None:
    """Serve until stdin closes."""
    for encoding in ("float", "base64"):
        _encoded(encoding)
    with _Server(("127.0.0.1", 0), _Handler) as server:
        print(f"http://127.0.0.1:{server.server_address[1]}/v1", flush=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdin.read()
        server.shutdown()


if __name__ == "__main__":
    main()
