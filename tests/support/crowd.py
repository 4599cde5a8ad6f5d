"""Many connections at once, from a process of their own; run as `python -m tests.support.crowd PATH COUNT SECONDS`."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parents[2]


class Crowd:
    """Connects again and again and holds every connection; a context manager, which ends when all were made."""

    def __init__(self, path: Path, connects: int, seconds: float) -> None:
        self._arguments = [str(path), str(connects), str(seconds)]
        self.connected = 0

    def __enter__(self) -> Crowd:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.crowd", *self._arguments],
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
    """Connect, say how often, and hold the connections until our input ends."""
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
