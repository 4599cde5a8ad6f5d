"""An open index: one writer in a queue, a few readers beside it, all in worker threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import apsw
import structlog
import trio

from memd.index.care.claims import IndexClaim
from memd.index.care.opening import Opened, open_writer
from memd.index.care.quarantine import drop, put_away
from memd.index.care.upkeep import (
    ALL_PAGES,
    FileIdentityCheck,
    fold_log,
    fold_long_log,
    give_back,
    is_sound,
    log_of,
    set_mark,
    size_of,
    write_mark,
)
from memd.index.database import Database as Database
from memd.index.database import connect_reader, damaged, map_errors, transaction
from memd.index.openclaw.adopt import SpaceOf
from memd.index.reads import ParallelRead, Read, Readers, Signal
from memd.index.vectors.sqlite_vec import VectorExtension
from memd.system.cancellation import cancelled_by
from memd.system.clock import Clock
from memd_client.errors import (
    AgentReloadingError,
    DeadlineExceededError,
    IndexClosedError,
    IndexCorruptError,
    IndexIOError,
    IndexLostError,
    MemdError,
)

log = structlog.get_logger(__name__)

T = TypeVar("T")

READERS = 3
"""Reads at the same time: one more than the cores of a small machine, so that a slow one holds up nobody."""

READ_TIMEOUT_S = 30.0
"""Longest read where the caller names no time; a search takes milliseconds."""

WRITE_WAIT_S = 60.0
"""Longest wait for one's turn to write. Writes are short, so this means that something hangs."""


class IndexFile:
    """One agent's index, open. Made by `IndexFile.open`.

    Attributes:
        set_aside: What a damaged file was renamed to at opening, if it was.
        adopted: Vectors taken over from an index that OpenClaw wrote.
        written, used: After each write; after each read or write.
        fault: Why the latest write failed, while none has worked since: a full disk, a lock. It can be read.
    """

    def __init__(self, opened: Opened, extension: VectorExtension, clock: Clock) -> None:
        path = self.path = opened.path
        self.set_aside = opened.set_aside
        self.adopted = opened.adopted.vectors if opened.adopted is not None else 0
        self._clock = clock
        self._writer = opened.db
        self._standing = FileIdentityCheck(path)
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
        self._dropping: Callable[[Path], None] | None = None
        self._doubted = False
        self.fault: IndexIOError | None = None
        self._failed = trio.Event()
        self.written, self.used = Signal(), Signal()

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
        space_of: SpaceOf,
        earlier: Path | None = None,
        gives_up_reading: bool = True,
        is_own_path: bool = False,
        claim: IndexClaim | None = None,
    ) -> IndexFile:
        """Open an index, making, migrating, adopting or replacing the file as its state asks.

        Cancellation: waits until opening ended, then closes again.
        """

        def work() -> Opened:
            with map_errors(path):
                return open_writer(
                    path,
                    load_extension=extension.load_into,
                    clock=clock,
                    space_of=space_of,
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

        Cancellation: at once; the statement is interrupted and what `fn` returns is thrown away.
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
        """Run a read in a worker thread; the limiter sees to it that a connection is free."""
        with self._errors():
            self._require_usable()
            self._standing.check()
            with self._readers.lend(read) as db:
                db.execute("BEGIN")
                with cancelled_by(read.is_stopped):
                    return fn(db)

    def read_parallel(self, db: Database, fn: Callable[[Database], T]) -> ParallelRead[T]:
        """Start a second read in a thread of its own, while the one on `db` goes on; for use inside that one."""
        main = next(read for read in list(self._reads) if read.db is db)
        return ParallelRead(main, partial(self._read_parallel, fn))

    def _read_parallel(self, fn: Callable[[Database], T], read: Read) -> T:
        # No statement more than `fn` makes: with each Python's lock goes to the other thread and has to come back.
        with self._errors(), self._readers.lend(read) as db:
            return fn(db)

    # --- writing ------------------------------------------------------------------------------------

    async def write(self, fn: Callable[[Database], T], *, wait_s: float = WRITE_WAIT_S) -> T:
        """Run a function on the writer connection, in a thread, inside one write transaction.

        First come, first served.

        Cancellation: while waiting, at once and without a trace; once it runs, it runs to its end and the
        result is returned.
        """

        def work(db: Database) -> T:
            with transaction(db):
                result = fn(db)
            give_back(db)
            return result

        return await self.use_writer(work, wait_s)

    async def use_writer(self, work: Callable[[Database], T], wait_s: float = WRITE_WAIT_S) -> T:
        """Do what `write` does, outside a transaction: for what SQLite wants done so."""
        with trio.move_on_after(wait_s) as waiting:
            await self._turn.acquire()
        if waiting.cancelled_caught:
            raise DeadlineExceededError(
                f"the index {self.path.name} is busy: no turn to write in {wait_s:g} s"
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
        with self._errors(), self._standing.changing():
            result = work(self._writer)
            fold_long_log(self._writer, self.path)
            return result

    async def wait_fault(self) -> IndexIOError:
        """Wait until a write fails for want of space, permission or a lock; return why."""
        while self.fault is None:
            self._failed = trio.Event()
            await self._failed.wait()
        return self.fault

    async def give_caches_back(self) -> None:
        """Give back the memory of pages held for the next read or write; those read them from the disk again."""

        def work(db: Database) -> None:
            self._readers.close()
            db.pragma("shrink_memory")

        await self.use_writer(work)

    def size_bytes(self) -> int:
        """Return what the index takes on disk, its log included; two stats, so it may be asked anywhere."""
        return sum(size_of(file) for file in (self.path, log_of(self.path)))

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

    def discard(self, *, vectors: bool) -> None:
        """Give the file up, so that it is built anew; whoever waits for its loss closes it and opens another."""
        self._dropping = partial(drop, vectors=vectors)
        self._lose(AgentReloadingError(f"the index {self.path.name} is built anew: somebody asked for it"))

    def _lose(self, error: MemdError) -> None:
        """Note that the file can serve no more."""
        self._lost_by = self._lost_by or error
        self._lost.set()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn errors into ours; an error of a statement is damage where the tables turn out not to be sound."""
        try:
            with map_errors(self.path):
                yield
        except MemdError as error:
            if isinstance(error.__cause__, apsw.SQLError) and not self._doubted:
                # Once: it reads the whole file, and a mistake of ours would have it read each time.
                self._doubted = True
                if not is_sound(self._connect_reader):
                    raise damaged(self.path) from error
            raise

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
        """Close all connections, leaving one file without a log, and the mark of a clean stop."""
        self._readers.close()
        mark_ns = None
        try:
            if self._lost_by is None:
                with map_errors(self.path):
                    give_back(self._writer, ALL_PAGES)
                    if fold_log(self._writer, wait=True):
                        mark_ns = write_mark(self._writer, self.path, self._clock())
        except Exception as error:  # noqa: BLE001
            # Everything is committed; what isn't brought into the file now is at the next opening.
            log.warning("index.checkpoint_failed", index=str(self.path), error=type(error).__name__)
        finally:
            self._writer.close(True)  # this, too, brings the log into the file
        set_mark(self.path, mark_ns)
        if self._lost_by is not None:
            if self._standing.is_in_place():
                put_away(self.path, self._clock(), self._dropping, self._lost_by)
            else:
                self._standing.remove_log()

    def _require_usable(self) -> None:
        """Raise where the index is closed, or serves no more."""
        if self._closing or self._lost.is_set():
            raise self._closed_error()

    def _closed_error(self) -> IndexClosedError:
        return IndexClosedError(f"the index {self.path.name} is closed", data={"path": str(self.path)})
