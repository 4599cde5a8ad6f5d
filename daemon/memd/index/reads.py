"""What an open index keeps beside its writer: reads under way, what they read through, signs of use."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import trio

from memd.index.database import Database

STEPS_BETWEEN_CHECKS = 50_000
"""Steps of SQLite's machine between two looks whether the caller is gone: about a millisecond."""


@dataclass(eq=False, slots=True)
class Read:
    """A read that runs in a thread, on a connection of its own while it runs."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    db: Database | None = None
    stopped: bool = False
    beside: Read | None = None

    def stop(self) -> None:
        """Interrupt its statement, and those it still has to begin; what it has beside it too."""
        self.stopped = True
        with self.lock:
            if self.db is not None:
                self.db.interrupt()
            beside = self.beside
        if beside is not None:
            beside.stop()

    def take_beside(self, beside: Read | None) -> None:
        """Have another read stopped with this one; None: no other any more."""
        with self.lock:
            self.beside = beside
        if beside is not None and self.stopped:
            beside.stop()

    def is_stopped(self) -> bool:
        """Answer SQLite, which asks in the midst of a statement whether to end it."""
        return self.stopped


class Readers:
    """Connections to read through. Threads take and keep them."""

    def __init__(self, connect: Callable[[], Database]) -> None:
        self._connect = connect
        self._lock = threading.Lock()
        self._idle: list[Database] = []

    @contextmanager
    def lend(self, read: Read) -> Iterator[Database]:
        """Give a read a connection inside the `with` block, by which it can be stopped; the one used last, if any."""
        db = self._take() or self._connect()
        with read.lock:
            read.db = db
        try:
            db.set_progress_handler(read.is_stopped, STEPS_BETWEEN_CHECKS)
            yield db
        finally:
            db.set_progress_handler(None)
            with read.lock:
                read.db = None
            if db.in_transaction:
                db.execute("ROLLBACK")
            with self._lock:
                self._idle.append(db)

    def close(self) -> None:
        """Close those nobody reads through."""
        while (db := self._take()) is not None:
            db.close(True)

    def _take(self) -> Database | None:
        with self._lock:
            return self._idle.pop() if self._idle else None


class Signal:
    """Says that something happened, and when last, to one task that waits for it."""

    def __init__(self) -> None:
        self._event = trio.Event()
        self._last = 0.0

    def set(self) -> None:
        """Say so. It costs next to nothing, however often: nobody is woken but by the first time."""
        self._last = trio.current_time()
        self._event.set()

    def clear(self) -> None:
        """Forget it."""
        if self._event.is_set():
            self._event = trio.Event()

    async def wait_for_pause(self, pause_s: float) -> None:
        """Wait until it happened since the last call, and then not again for so long."""
        await self._event.wait()
        # Not by events: each use moves the moment, and a search shall not wake anybody.
        while (left_s := self._last + pause_s - trio.current_time()) > 0:  # noqa: ASYNC110
            await trio.sleep(left_s)
        self.clear()
