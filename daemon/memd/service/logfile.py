"""The daemon's log: standard error, and where that is a file of ours, a few files of bounded size.

A client that starts the daemon gives it an open file as standard error, so that a traceback of the interpreter
or a word of a C library lands there too. Rotating therefore means to put another file under that descriptor.
Where a service manager, a terminal or a person's redirection reads standard error, nothing is rotated.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO, cast

import structlog

from memd.system.clock import Clock, wall_clock_ms
from memd.system.line_writer import EXIT_DRAIN_S, LineWriter, QueuedText

LIMIT_BYTES = 5_000_000
"""A file of the log is followed by the next at this size."""

FILES = 3
"""The log itself and the two before it, `.1` and `.2`."""

STDOUT = 1
STDERR = 2


class LogStream:
    """What the logger writes to. It never blocks and never raises: a thread writes, what doesn't fit is counted.

    Safe to be used by any number of threads.
    """

    def __init__(self, descriptor: int = STDERR, *, clock: Clock = wall_clock_ms) -> None:
        self._descriptor = descriptor
        self._clock = clock
        self._file: tuple[str, int] | None = None
        self._writer = LineWriter(descriptor, loss_line=self._line_of_loss, prepare=self._prepare)

    def __repr__(self) -> str:
        name = self._file[0] if self._file else f"descriptor {self._descriptor}"
        return f"<LogStream {name}, {self._writer.lost} lines lost>"

    def logger_factory(self) -> structlog.WriteLoggerFactory:
        """Return what structlog makes loggers with."""
        return structlog.WriteLoggerFactory(cast(TextIO, self))

    def keep_in(self, path: str | Path, *, limit_bytes: int = LIMIT_BYTES) -> bool:
        """Bound the log's file from now on, if it is the one named; only the daemon that holds the lock may."""
        with contextlib.suppress(OSError):
            facts = os.fstat(self._descriptor)
            if stat.S_ISREG(facts.st_mode) and os.path.samestat(facts, os.stat(path)):
                os.fchmod(self._descriptor, 0o600)
                with contextlib.suppress(OSError):  # left by a daemon that was killed in `_turn`
                    os.unlink(f"{os.fspath(path)}.new")
                self._file = (os.fspath(path), limit_bytes)
                return True
        return False

    def write(self, text: str) -> int:
        """Queue whole lines; what can't be queued or written is counted and lost."""
        self._writer.put(text.encode("utf-8", "backslashreplace"))
        return len(text)

    def flush(self) -> None:
        """Do nothing: the thread hands every line to the system at once."""

    def drain(self, timeout_s: float = EXIT_DRAIN_S) -> bool:
        """Wait until everything queued so far was written or lost; return False after the time."""
        return self._writer.drain(timeout_s)

    def as_stderr(self) -> TextIO:
        """Return a stream for `sys.stderr`: tracebacks and warnings go the same way as the log."""
        return cast(TextIO, QueuedText(self.write, self._descriptor))

    def _prepare(self, coming: int) -> None:
        """Make room in the file for a line, in the thread that writes."""
        if self._file is not None:
            with contextlib.suppress(OSError):  # the file there is goes on, however long
                self._turn(*self._file, coming)

    def _line_of_loss(self, lost: int) -> bytes:
        """Return the line that stands where others are missing."""
        moment = datetime.fromtimestamp(self._clock() / 1000, tz=UTC).isoformat().replace("+00:00", "Z")
        event = {"lines": lost, "event": "service.log_lines_lost", "level": "warning", "timestamp": moment}
        return json.dumps(event).encode() + b"\n"

    def _turn(self, path: str, limit_bytes: int, coming: int) -> None:
        """Begin the next file where this one is full, or was removed or moved under our hands."""
        facts = os.fstat(self._descriptor)
        try:
            is_there = os.path.samestat(facts, os.stat(path))
        except FileNotFoundError:
            is_there = False
        if is_there and (facts.st_size + coming <= limit_bytes or not facts.st_size):
            return
        # The new file is open before the old one moves: where there is no room for it nothing has changed.
        fresh = f"{path}.new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        flags |= os.O_NOFOLLOW | os.O_NONBLOCK  # a FIFO in its place must not block the daemon
        opened = os.open(fresh if is_there else path, flags if is_there else flags & ~os.O_TRUNC, 0o600)
        try:
            if is_there:
                for number in range(FILES - 1, 0, -1):
                    with contextlib.suppress(FileNotFoundError):
                        os.replace(path if number == 1 else f"{path}.{number - 1}", f"{path}.{number}")
                os.replace(fresh, path)
            os.dup2(opened, self._descriptor)
            with contextlib.suppress(OSError):  # a daemon without standard output is none the worse
                if os.path.samestat(facts, os.fstat(STDOUT)):
                    os.dup2(opened, STDOUT)
        finally:
            os.close(opened)
