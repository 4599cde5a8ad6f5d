"""A program that runs until it is told to end, and what it prints meanwhile."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

PATIENCE_S: Final = 30.0
"""How long a program may take for what is expected of it."""

PAUSE_S: Final = 0.2
"""How long to wait for a line before its cause is repeated."""


class RunningProgram:
    """A program that runs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self._process = process
        self._output = process.stdout

    def line_after(self, cause: Callable[[], None]) -> str:
        """Return the first line it prints; what brings it about is repeated, as the program may not listen yet."""
        until = time.monotonic() + PATIENCE_S
        while not select.select([self._output], [], [], PAUSE_S)[0]:
            assert time.monotonic() < until, "the program printed nothing"
            cause()
        return self._output.readline()

    def ended_by(self, number: signal.Signals) -> str:
        """Send a signal, wait until the program ended well, and return the rest of what it printed."""
        self._process.send_signal(number)
        rest, _ = self._process.communicate(timeout=PATIENCE_S)
        assert self._process.returncode == 0
        return rest


@contextmanager
def running(command: Sequence[str | Path], cwd: Path, environ: Mapping[str, str]) -> Iterator[RunningProgram]:
    """Run a program until the block ends."""
    with subprocess.Popen(
        command, cwd=cwd, env={**os.environ, **environ}, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield RunningProgram(process)
        finally:
            process.kill()
