"""Short socket paths, and a real server with fake agents in a thread."""

from __future__ import annotations

import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import trio
from trio.testing import MockClock

from memd.rpc.call import DaemonContext
from memd.rpc.limits import Limits
from memd.rpc.server import serve
from memd_client.framing import FrameDecoder, encode_frame
from tests.support.registry import FakeRegistry

STATE_TIMEOUT_S = 120.0
"""How long a test waits for a state before it fails."""


@contextmanager
def short_directory() -> Iterator[Path]:
    """Yield a private directory with a path short enough for a socket."""
    path = Path(tempfile.mkdtemp(prefix="m", dir="/tmp"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


class ServerThread:
    """A real server with fake agents, in a thread; a context manager."""

    def __init__(
        self,
        path: Path,
        memory: FakeRegistry | None = None,
        limits: Limits | None = None,
        clock: MockClock | None = None,
    ) -> None:
        self.path = path
        self._clock = clock
        self.memory: Any = memory or FakeRegistry()
        self.daemon = DaemonContext(
            version="9.9", started=time.monotonic(), socket=str(path), limits=limits or Limits(drain_s=0.2)
        )
        self._ready = threading.Event()
        self._scope = trio.CancelScope()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._failure: BaseException | None = None

    def __enter__(self) -> ServerThread:
        self._thread.start()
        assert self._ready.wait(STATE_TIMEOUT_S), "the server did not start"
        if self._failure is not None:
            raise self._failure
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    def _run(self) -> None:
        try:
            trio.run(self._main, clock=self._clock)
        except BaseException as error:  # noqa: BLE001 - raised again in the test's thread
            self._failure = error
        finally:
            self._ready.set()

    async def _main(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        with self._scope:
            async with trio.open_nursery() as nursery:
                await self.start(nursery)
                self._ready.set()

    async def start(self, nursery: trio.Nursery) -> None:
        """Start everything that serves clients."""
        await nursery.start(serve, self.path, self.memory, self.daemon)

    def stop(self) -> None:
        """Stop as on SIGTERM and wait for the end. Idempotent."""
        if self._thread.is_alive():
            self._token.run_sync_soon(self._scope.cancel)
        self._thread.join(STATE_TIMEOUT_S)
        assert not self._thread.is_alive(), "the server did not stop"
        if self._failure is not None:
            raise self._failure

    def wait_until(self, condition: Any) -> None:
        """Wait for a state of the server or its agents."""
        wait_until(condition)


def wait_until(condition: Any) -> None:
    """Wait for a state; fail after a timeout."""
    deadline = time.monotonic() + STATE_TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, "the state did not come"
        threading.Event().wait(0.002)


class RawClient:
    """A client that sends any bytes, valid or not; a context manager."""

    def __init__(self, path: Path) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(STATE_TIMEOUT_S)
        self.sock.connect(str(path))
        self._decoder = FrameDecoder()
        self._messages: list[Any] = []

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.sock.close()

    def send(self, value: Any) -> None:
        """Send a value as a frame."""
        self.sock.sendall(encode_frame(value))

    def send_bytes(self, data: bytes) -> None:
        """Send raw bytes."""
        self.sock.sendall(data)

    def read(self) -> Any:
        """Return the next message, or None when the server has closed."""
        while not self._messages:
            try:
                data = self.sock.recv(65536)
            except ConnectionResetError:
                return None
            if not data:
                return None
            self._messages += self._decoder.feed(data)
        return self._messages.pop(0)

    def call(self, method: str, params: Any, request_id: int = 1) -> Any:
        """Send a request and return the next message."""
        self.send([0, request_id, method, params])
        return self.read()

    def greet(self) -> RawClient:
        """Send hello and return self."""
        reply = self.call("hello", {"protocol": 1}, 4_000_000_000)
        assert reply[2] is None, reply
        return self
