"""Programs that tests run: examples in the documentation, programs that print lines, and terminal commands."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.support.daemon import DaemonProcess
from tests.support.tree import ROOT

PROGRAM_TIMEOUT_S: Final = 120.0
"""Timeout of a program's expected output."""

PAUSE_S: Final = 0.2
"""Pause before a cause is repeated."""


class RunningProgram:
    """A running program."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self._process = process
        self._output = process.stdout

    def line_after(self, cause: Callable[[], None]) -> str:
        """Return the first line printed after `cause`, which is repeated, as the program may not be ready."""
        until = time.monotonic() + PROGRAM_TIMEOUT_S
        while not select.select([self._output], [], [], PAUSE_S)[0]:
            assert time.monotonic() < until, "the program printed nothing"
            cause()
        return self._output.readline()

    def ended_by(self, number: signal.Signals) -> str:
        """Send a signal, wait until the program exits with 0, and return the rest of its output."""
        self._process.send_signal(number)
        rest, _ = self._process.communicate(timeout=PROGRAM_TIMEOUT_S)
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


PAGES: Final = (
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "client").glob("*/README.md")),
)

BLOCK: Final = re.compile(r"^[ ]*```(\w+)\n(.*?)^[ ]*```$", re.DOTALL | re.MULTILINE)

FOREIGN: Final = ("mcp_servers",)
"""Words in settings of other programs."""


def examples(language: str) -> Iterator[tuple[Path, str]]:
    """Yield page and text of every example in a language, except other programs' settings."""
    for page in PAGES:
        for found in BLOCK.finditer(page.read_text("utf-8")):
            if found[1] == language and not any(word in found[2] for word in FOREIGN):
                yield page, found[2]


def programs(page: Path, language: str) -> dict[str, str]:
    """Return the programs on a page by name; blocks without a name are fragments."""
    blocks = re.findall(
        rf"```{language}\n(?:#|//) example: (\w+)\n(.*?)```", page.read_text("utf-8"), re.DOTALL
    )
    return dict(blocks)


OUTPUT_TIMEOUT_S = 120.0
"""Timeout for output on a terminal."""

CURSOR_QUERY: Final = b"\x1b[6n"

ESCAPE: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()].|[=>78c])")
"""An escape sequence of a terminal."""


class TerminalProgram:
    """A program on a terminal; a context manager. Output is without the terminal's escape sequences.

    Args:
        command: The program, and its arguments.
        environ: The whole environment.
        cwd: The place in which it starts; None for the current folder.
        size: Lines and columns.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        environ: Mapping[str, str],
        cwd: Path | None = None,
        size: tuple[int, int] = (40, 100),
    ) -> None:
        self._command = [str(word) for word in command]
        self._environ = {**environ}
        self._cwd = cwd
        self._size = size
        self._has_ended = False
        self.text = ""

    def __enter__(self) -> Self:
        self._pid, self._screen = pty.fork()
        if self._pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # background processes of a shell ignore it
            if self._cwd is not None:
                os.chdir(self._cwd)
            os.execve(self._command[0], self._command, self._environ)
        fcntl.ioctl(self._screen, termios.TIOCSWINSZ, struct.pack("HHHH", *self._size, 0, 0))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._has_ended:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        os.close(self._screen)

    def press(self, key: bytes) -> None:
        """Press a key."""
        os.write(self._screen, key)

    def wait_for(self, wanted: str) -> None:
        """Wait until new output contains a text; earlier output is discarded."""
        self.text = ""
        until = time.monotonic() + OUTPUT_TIMEOUT_S
        while wanted not in self.text:
            assert time.monotonic() < until, f"{wanted!r} did not come: {self.text[-2000:]!r}"
            self._read()

    def press_until(self, key: bytes, done: Callable[[], bool]) -> None:
        """Press a key again and again, as the program may not be ready, until something is done."""
        until = time.monotonic() + OUTPUT_TIMEOUT_S
        while not done():
            assert time.monotonic() < until, f"nothing was done: {self.text[-2000:]!r}"
            with contextlib.suppress(OSError):  # it has ended
                self.press(key)
                self._read()

    def has_ended(self) -> bool:
        """Return whether the program has ended."""
        if not self._has_ended:
            self._has_ended = os.waitpid(self._pid, os.WNOHANG)[0] != 0
        return self._has_ended

    def wait_end(self) -> int:
        """Read to the end and return the exit code."""
        until = time.monotonic() + OUTPUT_TIMEOUT_S
        with contextlib.suppress(OSError):
            while self._read():
                assert time.monotonic() < until, f"it did not end: {self.text[-2000:]!r}"
        _, status = os.waitpid(self._pid, 0)
        self._has_ended = True
        return os.waitstatus_to_exitcode(status)

    def _read(self) -> bool:
        """Read output for up to a second; return whether more may follow."""
        if select.select([self._screen], [], [], 1.0)[0]:
            data = os.read(self._screen, 65536)
            if CURSOR_QUERY in data:  # programs wait for the answer
                os.write(self._screen, b"\x1b[1;1R")
            self.text += ESCAPE.sub("", data.decode(errors="replace"))
            return bool(data)
        return True


class Terminal(TerminalProgram):
    """`memctl` on a terminal; a context manager."""

    def __init__(self, daemon: DaemonProcess, *arguments: str) -> None:
        code = "from memd.cli.main import main; main()"
        environ = {**os.environ, **daemon.home.environ(), "TERM": "xterm", "NO_COLOR": "1"}
        super().__init__([sys.executable, "-c", code, *arguments], environ)
