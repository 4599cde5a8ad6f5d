"""Reads of an open index, each on its own connection and possibly with a parallel read; activity signals."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Generic, TypeVar

import trio

from memd.system.sqlite import STEPS_BETWEEN_CHECKS, Database

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class Read:
    """A read in a worker thread, with its connection while it runs."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    db: Database | None = None
    stopped: bool = False
    parallel: Read | None = None

    def stop(self) -> None:
        """Interrupt the running statement, prevent further ones, and stop the parallel read."""
        self.stopped = True
        with self.lock:
            if self.db is not None:
                self.db.interrupt()
            parallel = self.parallel
        if parallel is not None:
            parallel.stop()

    def set_parallel(self, parallel: Read | None) -> None:
        """Set the read that is stopped together with this one, or None."""
        with self.lock:
            self.parallel = parallel
        if parallel is not None and self.stopped:
            parallel.stop()

    def is_stopped(self) -> bool:
        """Return whether to abort; called by SQLite during a statement."""
        return self.stopped


class ParallelRead(Generic[T]):
    """A read in a second thread, stopped together with the main one; starts at once, ends with the `with` block.

    Both run concurrently while they release the GIL, as SQLite and numpy do. For worker threads: nothing here needs
    the event loop.
    """

    def __init__(self, main: Read, run: Callable[[Read], T]) -> None:
        self._main = main
        self._run = run
        self._read = Read()
        self._running = threading.Lock()
        self._running.acquire()
        self._results: list[T] = []
        self._failed: BaseException | None = None
        main.set_parallel(self._read)
        try:
            trio.lowlevel.start_thread_soon(self._work, lambda _: None)
        except RuntimeError:  # no thread could be started: run it now
            self._work()

    def __repr__(self) -> str:
        return f"<ParallelRead {'running' if self._running.locked() else 'done'}>"

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
        """Wait for the read; return its result or raise its error."""
        self._wait()
        if self._failed is not None:
            raise self._failed
        return self._results[0]

    def _wait(self) -> None:
        """Wait for the read to end; the main read's deadline stops both."""
        with self._running:
            pass

    def _work(self) -> None:
        try:
            self._results.append(self._run(self._read))
        except BaseException as error:  # noqa: BLE001 - raised by `result`
            self._failed = error
        finally:
            self._running.release()


class Readers:
    """A pool of reader connections. Thread-safe."""

    def __init__(self, connect: Callable[[], Database]) -> None:
        self._connect = connect
        self._lock = threading.Lock()
        self._idle: list[Database] = []

    @contextmanager
    def lend(self, read: Read) -> Iterator[Database]:
        """Yield a connection for a read, the most recently used one if any; `Read.stop` interrupts it."""
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
        """Close the idle connections."""
        while (db := self._take()) is not None:
            db.close(True)

    def _take(self) -> Database | None:
        with self._lock:
            return self._idle.pop() if self._idle else None


class ActivitySignal:
    """Records the time of the latest activity, and wakes one task that waits for a pause."""

    def __init__(self) -> None:
        self._event = trio.Event()
        self._last = 0.0

    def set(self) -> None:
        """Record activity. Cheap: only the first call wakes the waiting task."""
        self._last = trio.current_time()
        self._event.set()

    def clear(self) -> None:
        """Discard the recorded activity."""
        if self._event.is_set():
            self._event = trio.Event()

    async def wait_for_pause(self, pause_s: float) -> None:
        """Wait for activity, and then for a pause of `pause_s` seconds without any."""
        await self._event.wait()
        # Not by events, because each activity postpones the end, and a search must not wake this task.
        while (left_s := self._last + pause_s - trio.current_time()) > 0:  # noqa: ASYNC110
            await trio.sleep(left_s)
        self.clear()
