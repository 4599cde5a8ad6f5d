"""A client that is about to start the daemon, and never gets to it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CODE = (
    "import sys; from memd_client import discovery; discovery._take_turn(discovery._open_turn(sys.argv[1]));"
    "print('mine', flush=True); sys.stdin.read()"
)


@contextmanager
def starter_at(socket: Path) -> Iterator[None]:
    """Have another process's turn to start the daemon inside the block; it is killed at its end."""
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
