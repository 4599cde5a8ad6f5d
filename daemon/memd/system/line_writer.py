"""A writer thread for lines of output, so that no caller waits for a reader, a terminal or a disk.

O_NONBLOCK on standard error is no alternative: it would apply to every process that shares the open terminal.
"""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue

MAX_WAITING_BYTES = 1_000_000
"""Size of the queue. Lines that don't fit are dropped and counted."""

MAX_PART_CHARS = 65_536
"""Longest incomplete line that is buffered until its end arrives."""

EXIT_DRAIN_S = 1.0
"""Longest time an exiting process waits for its last lines to be written."""


def dropped_line(count: int) -> bytes:
    """Return a log line that reports how many lines were dropped."""
    return b"%d log lines dropped\n" % count


class LineWriter:
    """A bounded queue of lines and the thread that writes them to a descriptor."""

    def __init__(
        self,
        descriptor: int,
        *,
        loss_line: Callable[[int], bytes] = dropped_line,
        prepare: Callable[[int], None] = lambda _: None,
        max_bytes: int = MAX_WAITING_BYTES,
    ) -> None:
        self._descriptor = descriptor
        self._loss_line = loss_line
        self._prepare = prepare
        self._max_bytes = max_bytes
        self._queue: SimpleQueue[bytes | threading.Event] = SimpleQueue()
        self._lock = threading.RLock()  # a finalizer may log during a `put`
        self._thread: threading.Thread | None = None
        self._waiting_bytes = 0
        self._lost = 0
        self._has_open_line = False

    def __repr__(self) -> str:
        return f"<LineWriter descriptor {self._descriptor}, {self._waiting_bytes} bytes waiting, {self._lost} lost>"

    @property
    def lost(self) -> int:
        """Lines dropped or not written since the loss was last reported."""
        return self._lost

    def put(self, line: bytes) -> None:
        """Queue whole lines; never blocks, never raises. Safe in any thread."""
        with self._lock:
            if self._waiting_bytes and self._waiting_bytes + len(line) > self._max_bytes:
                self._lost += 1
                return
            self._waiting_bytes += len(line)
            self._queue.put(line)
            if self._thread is None:
                self._start()

    def drain(self, timeout_s: float) -> bool:
        """Wait until everything queued so far was written or lost; return False if the timeout passed first."""
        if self._thread is None:
            return True
        done = threading.Event()
        self._queue.put(done)
        return done.wait(timeout_s)

    def _start(self) -> None:
        """Start the thread. A process that is exiting can't start one: its last lines stay in the queue."""
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self._thread = None

    def _run(self) -> None:
        while True:
            item = self._queue.get()
            if isinstance(item, threading.Event):
                item.set()
                continue
            self._prepare(len(item))
            if self._write(item) and self._lost:
                with self._lock:
                    lost, self._lost = self._lost, 0
                self._write(self._loss_line(lost))
            with self._lock:
                self._waiting_bytes -= len(item)

    def _write(self, line: bytes) -> bool:
        """Write to the descriptor; return whether all of it was written. A partly written line is ended first."""
        rest = b"\n" + line if self._has_open_line else line
        try:
            while rest:
                written = os.write(self._descriptor, rest)
                rest = rest[written:]
                self._has_open_line = bool(rest)
        except OSError:
            with self._lock:
                self._lost += 1
            return False
        return True


class QueuedText(io.TextIOBase):
    """A text stream for `sys.stderr` that passes complete lines to a function which never blocks."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, write: Callable[[str], object], descriptor: int = 2) -> None:
        self._write = write
        self._descriptor = descriptor
        self._lock = threading.RLock()
        self._part = ""

    def fileno(self) -> int:
        """Return the descriptor this stream replaces."""
        return self._descriptor

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, text: str) -> int:
        """Queue the complete lines; keep an incomplete one until its end arrives."""
        with self._lock:
            whole, end, part = (self._part + text).rpartition("\n")
            if len(part) > MAX_PART_CHARS:
                whole, end, part = self._part + text, "", ""
            self._part = part
            if whole or end:
                self._write(whole + end)
        return len(text)

    def flush(self) -> None:
        """Queue an incomplete line."""
        with self._lock:
            part, self._part = self._part, ""
            if part:
                self._write(part)
