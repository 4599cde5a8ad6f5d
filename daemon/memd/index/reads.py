"""Reads of an open index: each on a connection of its own, at most one of them with a parallel read; signs of use."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Generic, TypeVar

import trio

from memd.index.database import Database

T = TypeVar("T")

STEPS_BETWEEN_CHECKS = 50_000
"""Steps of SQLite's machine between two looks whether the caller is gone: about a millisecond."""


@dataclass(eq=False, slots=True)
class Read:
    """A read that runs in a thread, on a connection of its own while it runs."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    db: Database | None = None
    stopped: bool = False
    parallel: Read | None = None

    def stop(self) -> None:
        """Interrupt its statement, those it still has to begin, and its parallel read."""
        self.stopped = True
        with self.lock:
            if self.db is not None:
                self.db.interrupt()
            parallel = self.parallel
        if parallel is not None:
            parallel.stop()

    def set_parallel(self, parallel: Read | None) -> None:
        """Have another read stopped with this one; None: no other any more."""
        with self.lock:
            self.parallel = parallel
        if parallel is not None and self.stopped:
            parallel.stop()

    def is_stopped(self) -> bool:
        """Answer SQLite, which asks in the midst of a statement whether to end it."""
        return self.stopped


class ParallelRead(Generic[T]):
    """A read in a second thread, stopped together with the main one; starts at once, ends with the `with` block.

    Both run at the same time while they leave Python's lock, as SQLite and numpy do. For threads: nothing here waits
    for the event loop.
    """

    def __init__(self, main: Read, run: Callable[[Read], T]) -> None:
        self._main = main
        self._run = run
        self._read = Read()
        self._running = threading.Lock()
        self._running.acquire()
        self._came: list[T] = []
        self._failed: BaseException | None = None
        main.set_parallel(self._read)
        try:
            trio.lowlevel.start_thread_soon(self._work, lambda _: None)
        except RuntimeError:  # no thread could be started: run it now
            self._work()

    def __repr__(self) -> str:
        return f"<ParallelRead {'running' if self._running.locked() else 'over'}>"

    def __enter__(self) -> ParallelRead[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._running.locked():
            self._read.stop()
        self._wait()
        self._main.set_parallel(None)

    def result(self) -> T:
        """Wait for the end of the read; return its result or raise its error."""
        self._wait()
        if self._failed is not None:
            raise self._failed
        return self._came[0]

    def _wait(self) -> None:
        """Wait for the end; the main read's deadline stops both."""
        with self._running:
            pass

    def _work(self) -> None:
        try:
            self._came.append(self._run(self._read))
        except BaseException as error:  # noqa: BLE001 - raised where the result is wanted
            self._failed = error
        finally:
            self._running.release()


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
