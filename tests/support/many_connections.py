"""Many connections from one process: `python -m tests.support.many_connections PATH COUNT SECONDS`."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parents[2]


class ManyConnections:
    """Opens connections repeatedly and keeps them open; the context manager exits once all are open."""

    def __init__(self, path: Path, connects: int, seconds: float) -> None:
        self._arguments = [str(path), str(connects), str(seconds)]
        self.connected = 0

    def __enter__(self) -> ManyConnections:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.many_connections", *self._arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._process as process:
            assert process.stdin is not None
            assert process.stdout is not None
            if kind is None:
                self.connected = int(process.stdout.readline())
            process.stdin.close()


def main(path: str, connects: int, seconds: float) -> None:
    """Connect, print how often, and keep the connections until the input ends."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    held = []
    started = time.monotonic()
    for number in range(connects):
        peer = socket.socket(socket.AF_UNIX)
        peer.connect(path)
        held.append(peer)
        time.sleep(max(0.0, started + seconds * number / connects - time.monotonic()))
    print(len(held), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
