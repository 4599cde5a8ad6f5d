"""The command line on a terminal of its own: what it shows, and keys pressed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from types import TracebackType

from tests.support.daemon import DaemonProcess

SEEN_S = 20.0
"""How long something may take to be seen on a busy machine; it usually takes a second."""


class Terminal:
    """`memctl` on a terminal of its own; a context manager."""

    def __init__(self, daemon: DaemonProcess, *arguments: str) -> None:
        self._environ = {**os.environ, **daemon.home.environ(), "TERM": "xterm", "NO_COLOR": "1"}
        self._arguments = arguments
        self.text = ""

    def __enter__(self) -> Terminal:
        self._pid, self._screen = pty.fork()
        if self._pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a run in the background of a shell has it ignored
            code = "from memd.cli.main import main; main()"
            os.execve(sys.executable, [sys.executable, "-c", code, *self._arguments], self._environ)
        fcntl.ioctl(self._screen, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        os.close(self._screen)

    def press(self, key: bytes) -> None:
        """Press a key."""
        os.write(self._screen, key)

    def wait_for(self, wanted: str) -> None:
        """Wait until something new on the terminal has these words; what came before is forgotten."""
        self.text = ""
        until = time.monotonic() + SEEN_S
        while wanted not in self.text:
            assert time.monotonic() < until, f"{wanted!r} did not come: {self.text[-2000:]!r}"
            self._read()

    def wait_end(self) -> int:
        """Read to the end and return the exit code."""
        until = time.monotonic() + SEEN_S
        with contextlib.suppress(OSError):
            while self._read():
                assert time.monotonic() < until, f"it did not end: {self.text[-2000:]!r}"
        _, status = os.waitpid(self._pid, 0)
        return os.waitstatus_to_exitcode(status)

    def _read(self) -> bool:
        """Read what is there within a second; return whether more may come."""
        if select.select([self._screen], [], [], 1.0)[0]:
            data = os.read(self._screen, 65536)
            self.text += data.decode(errors="replace")
            return bool(data)
        return True
