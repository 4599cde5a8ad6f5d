"""The daemon's log on standard error; if that is memd's own file, it is rotated.

A client that starts the daemon passes an open file as standard error, so that tracebacks of the interpreter and output
of C libraries are logged too. Rotation therefore replaces the file behind that descriptor. Standard error that goes to
a service manager, a terminal or a user's redirection is not rotated.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO, cast

from memd.system.clock import Clock, wall_clock_ms
from memd.system.line_writer import EXIT_DRAIN_S, LineWriter, QueuedText

LIMIT_BYTES = 5_000_000
"""Size at which a log file is rotated."""

FILES = 3
"""The log and its two predecessors, `.1` and `.2`."""

STDOUT = 1
STDERR = 2


class LogStream:
    """The stream of the logger. Writes never block or raise: a thread writes, and lost lines are counted.

    Thread-safe.
    """

    def __init__(self, descriptor: int = STDERR, *, clock: Clock = wall_clock_ms) -> None:
        self._descriptor = descriptor
        self._clock = clock
        self._file: tuple[str, int] | None = None
        self._writer = LineWriter(descriptor, loss_line=self._line_of_loss, prepare=self._prepare)

    def __repr__(self) -> str:
        name = self._file[0] if self._file else f"descriptor {self._descriptor}"
        return f"<LogStream {name}, {self._writer.lost} lines lost>"

    def rotate_file(self, path: str | Path, *, limit_bytes: int = LIMIT_BYTES) -> bool:
        """Rotate the log from now on if it is the file at `path`; only for the daemon that holds the lock."""
        with contextlib.suppress(OSError):
            facts = os.fstat(self._descriptor)
            if stat.S_ISREG(facts.st_mode) and os.path.samestat(facts, os.stat(path)):
                os.fchmod(self._descriptor, 0o600)
                with contextlib.suppress(OSError):  # left by a daemon that was killed in `_rotate`
                    os.unlink(f"{os.fspath(path)}.new")
                self._file = (os.fspath(path), limit_bytes)
                return True
        return False

    def write(self, text: str) -> int:
        """Queue whole lines; lines that can't be queued or written are lost and counted."""
        self._writer.put(text.encode("utf-8", "backslashreplace"))
        return len(text)

    def flush(self) -> None:
        """Do nothing: the thread writes every line immediately."""

    def drain(self, timeout_s: float = EXIT_DRAIN_S) -> bool:
        """Wait until all queued lines are written or lost; return False after the timeout."""
        return self._writer.drain(timeout_s)

    def as_stderr(self) -> TextIO:
        """Return a stream for `sys.stderr`, so that tracebacks and warnings go to the log."""
        return cast(TextIO, QueuedText(self.write, self._descriptor))

    def _prepare(self, coming: int) -> None:
        """Rotate the file before a line if needed; runs in the writing thread."""
        if self._file is not None:
            with contextlib.suppress(OSError):  # keep writing to the current file, whatever its size
                self._rotate(*self._file, coming)

    def _line_of_loss(self, lost: int) -> bytes:
        """Return the line that reports lost lines."""
        moment = datetime.fromtimestamp(self._clock() / 1000, tz=UTC).isoformat().replace("+00:00", "Z")
        event = {"lines": lost, "event": "service.log_lines_lost", "level": "warning", "timestamp": moment}
        return json.dumps(event).encode() + b"\n"

    def _rotate(self, path: str, limit_bytes: int, coming: int) -> None:
        """Start a new file if this one is full, or was removed or moved by another process."""
        facts = os.fstat(self._descriptor)
        try:
            is_there = os.path.samestat(facts, os.stat(path))
        except FileNotFoundError:
            is_there = False
        if is_there and (facts.st_size + coming <= limit_bytes or not facts.st_size):
            return
        # Open the new file before renaming the old one, so that a full disk changes nothing.
        fresh = f"{path}.new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        flags |= os.O_NOFOLLOW | os.O_NONBLOCK  # a FIFO at the path must not block the daemon
        opened = os.open(fresh if is_there else path, flags if is_there else flags & ~os.O_TRUNC, 0o600)
        try:
            if is_there:
                for number in range(FILES - 1, 0, -1):
                    with contextlib.suppress(FileNotFoundError):
                        os.replace(path if number == 1 else f"{path}.{number - 1}", f"{path}.{number}")
                os.replace(fresh, path)
            os.dup2(opened, self._descriptor)
            with contextlib.suppress(OSError):  # standard output may be closed
                if os.path.samestat(facts, os.fstat(STDOUT)):
                    os.dup2(opened, STDOUT)
        finally:
            os.close(opened)
