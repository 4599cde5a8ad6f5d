"""A daemon with fake agents: the real lock, socket and server.

Run as `python -m tests.support.stub_daemon [fail|hang]`; listens at MEMD_SOCKET.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from typing import cast

import trio

from memd.agents.registry import AgentRegistry
from memd.rpc.call import DaemonContext
from memd.rpc.server import serve
from memd.service.lock import DaemonLock
from memd_client.discovery import EXIT_ALREADY_RUNNING, socket_path
from memd_client.errors import DaemonRunningError
from tests.support.registry import FakeRegistry


async def _serve(path: str) -> None:
    daemon = DaemonContext(version="stub", started=time.monotonic(), socket=path)
    with trio.open_signal_receiver(signal.SIGTERM) as signals:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve, path, cast(AgentRegistry, FakeRegistry()), daemon)
            async for _ in signals:
                nursery.cancel_scope.cancel()


def main() -> None:
    """Serve until SIGTERM."""
    mode = sys.argv[1] if len(sys.argv) > 1 else ""
    if mode == "fail":
        print("the stub fails on purpose", file=sys.stderr)
        sys.exit(3)
    if mode == "hang":
        threading.Event().wait(60)
    path = socket_path()
    try:
        with DaemonLock.acquire(path):
            trio.run(_serve, path)
    except DaemonRunningError:
        sys.exit(EXIT_ALREADY_RUNNING)


if __name__ == "__main__":
    main()
