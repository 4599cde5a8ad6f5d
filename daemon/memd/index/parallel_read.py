"""A read in a second thread, for one that goes on in its own: what both leave Python's lock for happens at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Generic, TypeVar

import trio

from memd.index.reads import Read

T = TypeVar("T")


class ParallelRead(Generic[T]):
    """A read beside another one; begins at once, and is over at the end of the `with` block.

    For threads: nothing here waits for the event loop.
    """

    def __init__(self, main: Read, run: Callable[[Read], T]) -> None:
        self._main = main
        self._run = run
        self._read = Read()
        self._running = threading.Lock()
        self._running.acquire()
        self._came: list[T] = []
        self._failed: BaseException | None = None
        main.take_beside(self._read)
        try:
            trio.lowlevel.start_thread_soon(self._work, lambda _: None)
        except RuntimeError:  # the system gives no thread: it is done before what else there is to do
            self._work()

    def __repr__(self) -> str:
        return f"<Beside {'running' if self._running.locked() else 'over'}>"

    def __enter__(self) -> ParallelRead[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._running.locked():
            self._read.stop()
        self._wait()
        self._main.take_beside(None)

    def result(self) -> T:
        """Wait for the read's end, and return what it returned."""
        self._wait()
        if self._failed is not None:
            raise self._failed
        return self._came[0]

    def _wait(self) -> None:
        """Wait until it is over. The main read's deadline is its own, since it is stopped with it."""
        with self._running:
            pass

    def _work(self) -> None:
        try:
            self._came.append(self._run(self._read))
        except BaseException as error:  # noqa: BLE001 - raised where the result is wanted
            self._failed = error
        finally:
            self._running.release()
