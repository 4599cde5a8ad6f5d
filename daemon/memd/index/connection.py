"""An open index: one queued writer and a few concurrent readers, all in worker threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import apsw
import trio

from memd.index.database import connect_reader, damaged, map_errors, transaction
from memd.index.integrity.claims import Claim
from memd.index.integrity.opening import OpenedIndex, open_writer
from memd.index.integrity.quarantine import is_readable, quarantine, remove_index
from memd.index.integrity.upkeep import (
    ALL_PAGES,
    FileIdentityCheck,
    checkpoint,
    checkpoint_long_log,
    file_size,
    is_sound,
    note_clean_shutdown,
    release_free_pages,
    stamp_clean_shutdown,
    wal_path,
)
from memd.index.reads import ActivitySignal, ParallelRead, Read, Readers
from memd.index.vectors.sqlite_vec import VectorExtension
from memd.system.cancellation import cancelled_by
from memd.system.clock import Clock
from memd.system.log import log
from memd.system.sqlite import Database as Database
from memd_client.errors import (
    AgentReloadingError,
    DeadlineExceededError,
    IndexClosedError,
    IndexCorruptError,
    IndexIOError,
    IndexLostError,
    MemdError,
)

T = TypeVar("T")

READERS = 3
"""Concurrent reads: one more than the cores of a small machine, so that a slow one doesn't block the others."""

READ_TIMEOUT_S = 30.0
"""Default timeout of a read; a search takes milliseconds."""

WRITE_WAIT_S = 60.0
"""Longest wait for the writer. Writes are short, so a timeout means that one hangs."""


class IndexFile:
    """One agent's index, open. Made by `IndexFile.open`.

    Attributes:
        quarantined: Path of the quarantined file that this index replaces, or None.
        written, used: Set after each write; after each read or write.
        fault: Error of the latest write if no write succeeded since, such as a full disk; reads still work.
    """

    def __init__(self, opened: OpenedIndex, extension: VectorExtension, clock: Clock) -> None:
        path = self.path = opened.path
        self.quarantined = opened.quarantined
        self._clock = clock
        self._writer = opened.db
        self._identity_check = FileIdentityCheck(path)
        self._turn = trio.Lock()
        self._writer_thread = trio.CapacityLimiter(1)
        self._reader_threads = trio.CapacityLimiter(READERS)
        self._connect_reader = partial(connect_reader, path, extension.load_into)
        self._readers = Readers(self._connect_reader)
        self._reads: set[Read] = set()
        self._closing = False
        self._closed = trio.Event()
        self._lost = trio.Event()
        self._lost_by: MemdError | None = None
        self._forgets_vectors = False
        self._was_checked = False
        self.fault: IndexIOError | None = None
        self._failed = trio.Event()
        self.written, self.used = ActivitySignal(), ActivitySignal()

    def __repr__(self) -> str:
        state = "closed" if self._closed.is_set() else "closing" if self._closing else "open"
        waiting = self._turn.statistics().tasks_waiting
        return f"<IndexFile {self.path.name} {state}, {len(self._reads)} reading, {waiting} waiting to write>"

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        extension: VectorExtension,
        clock: Clock,
        earlier: Path | None = None,
        gives_up_reading: bool = True,
        is_own_path: bool = False,
        claim: Claim | None = None,
    ) -> IndexFile:
        """Open an index; creates, migrates or replaces the file as needed.

        Cancellation: waits until the index is open, then closes it.
        """

        def work() -> OpenedIndex:
            with map_errors(path):
                return open_writer(
                    path,
                    load_extension=extension.load_into,
                    clock=clock,
                    earlier=earlier,
                    gives_up_reading=gives_up_reading,
                    is_own_path=is_own_path,
                    claim=claim,
                )

        opened = await trio.to_thread.run_sync(work, limiter=trio.CapacityLimiter(1))
        index = cls(opened, extension, clock)
        try:
            await trio.lowlevel.checkpoint_if_cancelled()
        except trio.Cancelled:
            await index.close()
            raise
        return index

    # --- reading ------------------------------------------------------------------------------------

    async def read(self, fn: Callable[[Database], T], *, timeout_s: float | None = None) -> T:
        """Run a function on a reader connection, in a thread, inside one read transaction.

        Cancellation: at once; the statement is interrupted and the result of `fn` is discarded.
        """
        self._require_usable()
        self.used.set()
        read = Read()
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
        except (IndexCorruptError, IndexLostError) as error:
            self._lose(error)
            raise
        except trio.TooSlowError:
            raise DeadlineExceededError(f"reading {self.path.name} took longer than allowed") from None
        finally:
            self._reads.discard(read)
            read.stop()

    def _read(self, fn: Callable[[Database], T], read: Read) -> T:
        """Run a read in a worker thread; the limiter guarantees a free connection."""
        with self._errors():
            self._require_usable()
            self._identity_check.check()
            with self._readers.lend(read) as db:
                db.execute("BEGIN")
                with cancelled_by(read.is_stopped):
                    return fn(db)

    def read_parallel(self, db: Database, fn: Callable[[Database], T]) -> ParallelRead[T]:
        """Start a second read in another thread, concurrent with the read on `db` that calls this."""
        main = next(read for read in list(self._reads) if read.db is db)
        return ParallelRead(main, partial(self._read_parallel, fn))

    def _read_parallel(self, fn: Callable[[Database], T], read: Read) -> T:
        # Only the statements of `fn`: each further one would pass the GIL to the other thread and back.
        with self._errors(), self._readers.lend(read) as db:
            return fn(db)

    # --- writing ------------------------------------------------------------------------------------

    async def write(self, fn: Callable[[Database], T], *, wait_s: float = WRITE_WAIT_S) -> T:
        """Run a function on the writer connection, in a thread, inside one write transaction.

        Writes run in the order of their calls.

        Cancellation: at once while waiting, without effect; a write that has started completes and returns.
        """

        def work(db: Database) -> T:
            with transaction(db):
                result = fn(db)
            release_free_pages(db)
            return result

        return await self.use_writer(work, wait_s)

    async def use_writer(self, work: Callable[[Database], T], wait_s: float = WRITE_WAIT_S) -> T:
        """Run a function as `write` does, outside a transaction: for pragmas and checkpoints."""
        with trio.move_on_after(wait_s) as waiting:
            await self._turn.acquire()
        if waiting.cancelled_caught:
            raise DeadlineExceededError(
                f"the index {self.path.name} is busy: other writes took longer than {wait_s:g} s"
            )
        try:
            self._require_usable()
            result = await trio.to_thread.run_sync(self._write, work, limiter=self._writer_thread)
        except (IndexCorruptError, IndexLostError) as error:
            self._lose(error)
            raise
        except IndexIOError as error:
            self.fault = error
            self._failed.set()
            raise
        finally:
            self._turn.release()
        self.fault = None
        self.written.set()
        self.used.set()
        return result

    def _write(self, work: Callable[[Database], T]) -> T:
        """Run a write in a worker thread."""
        with self._errors(), self._identity_check.changing():
            result = work(self._writer)
            checkpoint_long_log(self._writer, self.path)
            return result

    async def wait_fault(self) -> IndexIOError:
        """Wait until a write fails, for example on a full disk; return the error."""
        while self.fault is None:
            self._failed = trio.Event()
            await self._failed.wait()
        return self.fault

    async def release_caches(self) -> None:
        """Release the page caches; the next read or write fills them from the disk."""

        def work(db: Database) -> None:
            self._readers.close()
            db.pragma("shrink_memory")

        await self.use_writer(work)

    def size_bytes(self) -> int:
        """Return the size on disk, including the log; two stats, cheap enough for the event loop."""
        return sum(file_size(file) for file in (self.path, wal_path(self.path)))

    # --- loss ---------------------------------------------------------------------------------------

    @property
    def is_lost(self) -> bool:
        """Whether the file became unusable, and has to be reopened."""
        return self._lost.is_set()

    async def wait_lost(self) -> MemdError:
        """Wait until the file becomes unusable; return the error."""
        await self._lost.wait()
        assert self._lost_by is not None
        return self._lost_by

    def discard(self, *, vectors: bool) -> None:
        """Mark the file for a rebuild; the task in `wait_lost` closes and reopens it."""
        self._forgets_vectors = vectors
        self._lose(AgentReloadingError(f"the index {self.path.name} is being rebuilt on request"))

    def _lose(self, error: MemdError) -> None:
        """Mark the file as unusable."""
        self._lost_by = self._lost_by or error
        self._lost.set()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Map errors to memd's; a failed statement is reported as damage if the file fails its check."""
        try:
            with map_errors(self.path):
                yield
        except MemdError as error:
            if isinstance(error.__cause__, apsw.SQLError) and not self._was_checked:
                # Only once, because it reads the whole file, and a bug in a statement would repeat it.
                self._was_checked = True
                if not is_sound(self._connect_reader):
                    raise damaged(self.path) from error
            raise

    # --- closing ------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Close the index: a running write completes, reads are interrupted, later calls are refused.

        Cancellation: none, it runs to completion. Further calls wait for the first one.
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
        """Run a final checkpoint, close all connections, and record a clean shutdown."""
        self._readers.close()
        closed_ns = None
        try:
            if self._lost_by is None:
                with map_errors(self.path):
                    release_free_pages(self._writer, ALL_PAGES)
                    if checkpoint(self._writer, wait=True):
                        closed_ns = note_clean_shutdown(self._writer, self.path, self._clock())
        except Exception as error:  # noqa: BLE001
            # Everything is committed; SQLite applies the log at the next opening.
            log.warning("index.checkpoint_failed", index=str(self.path), error=type(error).__name__)
        finally:
            self._writer.close(True)  # runs a checkpoint as well
        stamp_clean_shutdown(self.path, closed_ns)
        if self._lost_by is not None:
            if self._identity_check.is_in_place():
                self._make_way(self._lost_by)
            else:
                self._identity_check.remove_log()

    def _make_way(self, lost_by: MemdError) -> None:
        """Remove or quarantine the closed index, which was discarded or is damaged, so that a new one can be created.

        A file that the disk can't read may be intact and stays, as does one that can't be renamed.
        """
        try:
            if self._forgets_vectors:
                remove_index(self.path)
            elif isinstance(lost_by, AgentReloadingError):
                quarantine(self.path, self._clock())
            elif isinstance(lost_by, IndexCorruptError) and is_readable(self.path):
                log.warning("index.set_aside", index=str(self.path), reason=lost_by.message)
                quarantine(self.path, self._clock())
        except OSError as error:
            log.warning("index.quarantine_failed", index=str(self.path), error=error.strerror)

    def _require_usable(self) -> None:
        """Raise if the index is closed or unusable."""
        if self._closing or self._lost.is_set():
            raise self._closed_error()

    def _closed_error(self) -> IndexClosedError:
        return IndexClosedError(f"the index {self.path.name} is closed", data={"path": str(self.path)})
