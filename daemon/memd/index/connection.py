"""An open index: one writer in a queue, a few readers beside it, all in worker threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import structlog
import trio

from memd.clock import Clock
from memd.index.adopt import SpaceOf
from memd.index.database import READER, connect, get_int, map_errors, transaction
from memd.index.database import Database as Database
from memd.index.opening import Opened, open_writer
from memd.index.vectors.sqlite_vec import VectorExtension
from memd_client.errors import DeadlineExceededError, IndexClosedError, IndexCorruptError, MemdError

log = structlog.get_logger(__name__)

T = TypeVar("T")

READERS = 3
"""Reads at the same time: one more than the cores of a small machine, so that a slow one holds up nobody."""

READ_TIMEOUT_S = 30.0
"""Longest read where the caller names no time; a search takes milliseconds."""

STEPS_BETWEEN_CHECKS = 50_000
"""Steps of SQLite's machine between two looks whether the caller is gone: about a millisecond."""

WRITE_WAIT_S = 60.0
"""Longest wait for one's turn to write. Writes are short, so this means that something hangs."""

FREE_PAGES_KEPT = 256
FREE_SHARE = 8
"""Pages are given back when more than 256 (2 MB), and more than an eighth of the file, are free."""

FREE_PAGES_AT_ONCE = 512
"""Pages given back after one write: 4 MB, some milliseconds."""


ALL_PAGES = 2**31 - 1
"""At closing nobody waits: everything free is given back."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What an index takes on disk, in bytes; `free_bytes` of the file wait to be used or given back."""

    file_bytes: int
    wal_bytes: int
    free_bytes: int


@dataclass(eq=False, slots=True)
class _Read:
    """One read under way, so that it can be interrupted and nothing else is."""

    lock: threading.Lock
    db: Database | None = None
    stopped: bool = False

    def stop(self) -> None:
        """Interrupt its statement, and those it still has to begin."""
        self.stopped = True
        with self.lock:
            if self.db is not None:
                self.db.interrupt()

    def is_stopped(self) -> bool:
        """Answer SQLite, which asks in the midst of a statement whether to end it."""
        return self.stopped


class IndexFile:
    """One agent's index, open. Made by `IndexFile.open`.

    Attributes:
        path: The file.
        set_aside: What a damaged file was renamed to at opening, if it was.
        adopted: Vectors taken over from an index that OpenClaw wrote.
    """

    def __init__(self, path: Path, opened: Opened, extension: VectorExtension) -> None:
        self.path = path
        self.set_aside = opened.set_aside
        self.adopted = opened.adopted.vectors if opened.adopted is not None else 0
        self._extension = extension
        self._writer = opened.db
        self._turn = trio.Lock()
        self._writer_thread = trio.CapacityLimiter(1)
        self._reader_threads = trio.CapacityLimiter(READERS)
        self._idle_readers: list[Database] = []
        self._reads: set[_Read] = set()
        self._closing = False
        self._closed = trio.Event()
        self._lost = trio.Event()
        self._lost_by: MemdError | None = None

    def __repr__(self) -> str:
        state = "closed" if self._closed.is_set() else "closing" if self._closing else "open"
        waiting = self._turn.statistics().tasks_waiting
        return f"<IndexFile {self.path.name} {state}, {len(self._reads)} reading, {waiting} waiting to write>"

    @classmethod
    async def open(
        cls, path: Path, *, extension: VectorExtension, clock: Clock, space_of: SpaceOf
    ) -> IndexFile:
        """Open an index, making, migrating, adopting or replacing the file as its state asks.

        Args:
            path: The file.
            extension: sqlite-vec, after `load` was tried.
            clock: Wall time.
            space_of: (provider, model) -> vector space id, for vectors found in an index OpenClaw wrote.

        Raises:
            IndexNewerError: A newer release wrote the file; it is untouched.
            IndexIOError: It can't be read or written, or belongs to another program.

        Cancellation: waits until opening ended, then closes again.
        """

        def work() -> Opened:
            with map_errors(path):
                return open_writer(path, load_extension=extension.load_into, clock=clock, space_of=space_of)

        index = cls(path, await trio.to_thread.run_sync(work, limiter=trio.CapacityLimiter(1)), extension)
        try:
            await trio.lowlevel.checkpoint_if_cancelled()
        except trio.Cancelled:
            await index.close()
            raise
        return index

    # --- reading ------------------------------------------------------------------------------------

    async def read(self, fn: Callable[[Database], T], *, timeout_s: float | None = None) -> T:
        """Run a function on a reader connection, in a thread, inside one read transaction.

        Args:
            fn: Takes the connection; must not keep it.
            timeout_s: Longest time, waiting for a free reader included.

        Returns:
            What `fn` returned.

        Raises:
            DeadlineExceededError: It took longer.
            IndexClosedError: The index is closed or closing.
            IndexCorruptError: The file is damaged. Open it anew: it is then set aside and rebuilt.
            IndexIOError: It can't be read.

        Cancellation: at once; the statement is interrupted and what `fn` returns is thrown away.
        """
        if self._closing:
            raise self._closed_error()
        read = _Read(threading.Lock())
        self._reads.add(read)
        try:
            with trio.fail_after(READ_TIMEOUT_S if timeout_s is None else max(0.0, timeout_s)):
                return await trio.to_thread.run_sync(
                    self._read, fn, read, limiter=self._reader_threads, abandon_on_cancel=True
                )
        except DeadlineExceededError:
            if self._closing:
                raise self._closed_error() from None
            raise
        except IndexCorruptError as error:
            self._lose(error)
            raise
        except trio.TooSlowError:
            raise DeadlineExceededError(
                f"reading the index {self.path.name} took longer than allowed"
            ) from None
        finally:
            self._reads.discard(read)
            read.stop()

    def _read(self, fn: Callable[[Database], T], read: _Read) -> T:
        """Run a read in a worker thread; the limiter sees to it that a connection is free."""
        with map_errors(self.path):
            if self._closing:
                raise self._closed_error()
            db = self._idle_readers.pop() if self._idle_readers else self._connect_reader()
            with read.lock:
                read.db = db
            try:
                db.set_progress_handler(read.is_stopped, STEPS_BETWEEN_CHECKS)
                db.execute("BEGIN")
                return fn(db)
            finally:
                db.set_progress_handler(None)
                with read.lock:
                    read.db = None
                if db.in_transaction:
                    db.execute("ROLLBACK")
                self._idle_readers.append(db)

    def _connect_reader(self) -> Database:
        """Open one more reader."""
        db = connect(self.path, READER)
        try:
            self._extension.load_into(db)
        except BaseException:
            db.close(True)
            raise
        return db

    # --- writing ------------------------------------------------------------------------------------

    async def write(self, fn: Callable[[Database], T], *, wait_s: float = WRITE_WAIT_S) -> T:
        """Run a function on the writer connection, in a thread, inside one write transaction.

        First come, first served.

        Args:
            fn: Takes the connection; must be short, and wait for nothing.
            wait_s: Longest wait for one's turn.

        Returns:
            What `fn` returned, after its commit. The caller goes on before the next write begins, so
            whatever it does without awaiting comes in the order of the commits.

        Raises:
            IndexClosedError: The index is closed or closing.
            IndexIOError: The file can't be written; nothing of the transaction stays.
            DeadlineExceededError: The turn didn't come.
            Exception: What `fn` raised; nothing of the transaction stays.

        Cancellation: while waiting, at once and without a trace; once it runs, it runs to its end and the
        result is returned.
        """
        with trio.move_on_after(wait_s) as waiting:
            await self._turn.acquire()
        if waiting.cancelled_caught:
            raise DeadlineExceededError(
                f"the index {self.path.name} is busy: no turn to write in {wait_s:g} s"
            )
        try:
            if self._closing:
                raise self._closed_error()
            return await trio.to_thread.run_sync(self._write, fn, limiter=self._writer_thread)
        except IndexCorruptError as error:
            self._lose(error)
            raise
        finally:
            self._turn.release()

    def _write(self, fn: Callable[[Database], T]) -> T:
        """Run a write in a worker thread."""
        with map_errors(self.path):
            with transaction(self._writer):
                result = fn(self._writer)
            self._give_back(FREE_PAGES_AT_ONCE)
            return result

    def _give_back(self, pages: int) -> None:
        """Give free pages back to the system where there are many."""
        free = get_int(self._writer, "PRAGMA freelist_count")
        if free > FREE_PAGES_KEPT and free * FREE_SHARE > get_int(self._writer, "PRAGMA page_count"):
            self._writer.execute(f"PRAGMA incremental_vacuum({pages})").fetchall()

    def size_bytes(self) -> int:
        """Return what the index takes on disk, its log included; two stats, so it may be asked anywhere."""
        return sum(_size_of(file) for file in (self.path, self._log_file))

    async def sizes(self) -> Sizes:
        """Return what the index takes on disk, part by part."""
        free = await self.read(
            lambda db: get_int(db, "PRAGMA freelist_count") * get_int(db, "PRAGMA page_size")
        )
        return Sizes(_size_of(self.path), _size_of(self._log_file), free)

    @property
    def _log_file(self) -> Path:
        return self.path.with_name(self.path.name + "-wal")

    # --- loss ---------------------------------------------------------------------------------------

    @property
    def is_lost(self) -> bool:
        """Whether the file can serve no more, and has to be opened anew."""
        return self._lost.is_set()

    async def wait_lost(self) -> MemdError:
        """Wait until the file can serve no more; return why."""
        await self._lost.wait()
        assert self._lost_by is not None
        return self._lost_by

    def _lose(self, error: MemdError) -> None:
        """Note that the file can serve no more."""
        self._lost_by = self._lost_by or error
        self._lost.set()

    # --- closing ------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Close the index: the running write ends first, reads are interrupted, later calls are refused.

        Cancellation: runs to its end. Calling it again, or at the same time, waits for the same end.
        """
        with trio.CancelScope(shield=True):
            if self._closing:
                await self._closed.wait()
                return
            self._closing = True
            async with self._turn:
                for read in list(self._reads):
                    read.stop()
                tokens = [object() for _ in range(READERS)]
                for token in tokens:
                    await self._reader_threads.acquire_on_behalf_of(token)
                try:
                    await trio.to_thread.run_sync(self._close, limiter=self._writer_thread)
                finally:
                    for token in tokens:
                        self._reader_threads.release_on_behalf_of(token)
                    self._closed.set()

    def _close(self) -> None:
        """Close all connections, leaving one file without a log."""
        for reader in self._idle_readers:
            reader.close(True)
        self._idle_readers.clear()
        try:
            with map_errors(self.path):
                self._give_back(ALL_PAGES)
                self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except Exception as error:  # noqa: BLE001
            # Everything is committed; what isn't brought into the file now is at the next opening.
            log.warning("index.checkpoint_failed", index=str(self.path), error=type(error).__name__)
        finally:
            self._writer.close(True)

    def _closed_error(self) -> IndexClosedError:
        return IndexClosedError(f"the index {self.path.name} is closed", data={"path": str(self.path)})


def _size_of(path: Path) -> int:
    """Return the length of a file, 0 where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
