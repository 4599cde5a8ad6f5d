"""A daemon with scripted replies, and processes that start one."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memd_client.framing import FrameDecoder, encode_frame


class ScriptedDaemon:
    """Accepts connections and passes each to a function."""

    def __init__(self, path: Path, *scripts: Callable[[socket.socket], object]) -> None:
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(path))
        self.listener.listen()
        self._scripts = scripts
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> ScriptedDaemon:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._thread.join(120)
        self.listener.close()
        for connection in self._open:
            connection.close()

    def _run(self) -> None:
        for script in self._scripts:
            connection, _ = self.listener.accept()
            self._open.append(connection)
            script(connection)


class ScriptedPeer:
    """One connection of a script: receives requests, and sends the script's replies."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._decoder = FrameDecoder()
        self._requests: list[Any] = []

    def greet(self) -> ScriptedPeer:
        """Answer hello."""
        request = self.read()
        self.answer(request[1], {"protocol": 1, "version": "1", "pid": 1, "capabilities": [], "limits": {}})
        return self

    def read(self) -> Any:
        """Return the next request."""
        while not self._requests:
            self._requests += self._decoder.feed(self._connection.recv(65536))
        return self._requests.pop(0)

    def answer(self, request_id: int, result: Mapping[str, Any]) -> None:
        """Answer a request."""
        self._connection.sendall(encode_frame([1, request_id, None, result]))

    def refuse(self, request_id: int, code: str) -> None:
        """Send an error response."""
        self._connection.sendall(encode_frame([1, request_id, {"code": code, "message": code}, None]))

    def tell(self, kind: str, fields: Mapping[str, Any]) -> None:
        """Send a notification."""
        self._connection.sendall(encode_frame([2, kind, fields]))

    def close(self) -> None:
        """Close the connection."""
        self._connection.shutdown(socket.SHUT_RDWR)


def answer_hello(connection: socket.socket) -> None:
    """Answer hello on a connection."""
    ScriptedPeer(connection).greet()


CODE = (
    "import sys; from memd_client import discovery; discovery._try_start_lock(discovery._open_start_lock(sys.argv[1]));"
    "print('mine', flush=True); sys.stdin.read()"
)


@contextmanager
def starter_at(socket: Path) -> Iterator[None]:
    """Simulate another process that is starting the daemon inside the block."""
    starter = subprocess.Popen(
        [sys.executable, "-c", CODE, str(socket)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert starter.stdout
        assert starter.stdout.readline() == b"mine\n"
        yield
    finally:
        starter.kill()
        starter.communicate()
