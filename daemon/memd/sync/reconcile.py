"""Disk versus rows: what to read, what to forget; text first, so that keyword search knows it at once.

One `TextSync` an agent. Its `run` task is the only writer of text; everybody else asks it to run and
waits as long as they like. A search that asks while a sync is under way joins the next one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import structlog
import trio

from memd.clock import Clock
from memd.index.connection import Database, IndexFile
from memd.index.files import FileRow, Published, forget_file, load_files, publish_file, touch_file
from memd.index.keyword import tidy
from memd.sync.discover import Discovery, Found
from memd.sync.read import FileText, read_file
from memd.text.chunking import Chunk, chunk_text
from memd_client.errors import FileMissingError, MemdError
from memd_client.messages import Skipped

log = structlog.get_logger(__name__)

ProgressSink = Callable[[str, int, int, str], None]
"""Takes (stage, done, total, detail); never blocks."""

CLOCK_GRAIN_NS = 20_000_000
"""A file indexed this soon after its last write may have been written again with the same time: it is
hashed. Kernels stamp files by a clock of 1 to 10 ms; twice that is safe."""

TIDY_FILES = 50
"""Changed files in one pass after which the keyword index is worth merging: a question is answered 0.6 ms sooner at
15,000 chunks."""


def ignore_progress(stage: str, done: int, total: int, detail: str) -> None:
    """Take progress nobody asked for."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs between disk and rows: files to read, newest first, and rows whose file is gone."""

    read: list[Found]
    gone: list[FileRow]

    def __bool__(self) -> bool:
        return bool(self.read or self.gone)


@dataclass(slots=True)
class TextReport:
    """What one text pass did."""

    files_changed: int = 0
    files_removed: int = 0


@dataclass(slots=True)
class _Request:
    """One caller's wish for a text pass that starts after now."""

    force: bool
    progress: ProgressSink
    done: trio.Event = field(default_factory=trio.Event)
    report: TextReport = field(default_factory=TextReport)
    error: MemdError | None = None


def compare(
    disk: Discovery, rows: dict[str, FileRow], refused: dict[str, Found], *, force: bool = False
) -> Changes:
    """Return what differs between disk and rows, by (mtime, size, inode) alone.

    Args:
        disk: What is there now.
        rows: What the index holds, by path.
        refused: Files that were read and refused (not UTF-8, binary), as they were then.
        force: Take every file as changed.

    Returns:
        Files to read, newest first, and rows to forget.
    """
    read = []
    for path, found in disk.files.items():
        row = rows.get(path)
        if force or row is None:
            if force or refused.get(path) != found:
                read.append(found)
        elif (
            row.mtime_ns != found.mtime_ns
            or row.size != found.size
            or row.inode != found.inode
            or row.ctime_ns != found.ctime_ns
            or row.indexed_at * 1_000_000 - row.ctime_ns < CLOCK_GRAIN_NS
        ):  # spelled out: this runs for every file in every search
            read.append(found)
    # Keys are subtracted in one step of C: this runs in a thread while a sync may change the rows.
    gone = [row for path in sorted(rows.keys() - disk.files.keys()) if (row := rows.get(path)) is not None]
    read.sort(key=lambda found: (-found.mtime_ns, found.path))
    return Changes(read, gone)


def count_behind(changes: Changes, rows: dict[str, FileRow]) -> int:
    """Return how many files are known to differ from the index; those merely to be hashed again don't count."""
    surely = [found for found in changes.read if not _looks_same(rows.get(found.path), found)]
    return len(surely) + len(changes.gone)


def _looks_same(row: FileRow | None, found: Found) -> bool:
    """Return whether a file's stat is the one it was indexed with."""
    return row is not None and (row.mtime_ns, row.size, row.inode) == (
        found.mtime_ns,
        found.size,
        found.inode,
    )


class TextSync:
    """Keeps one agent's text rows equal to the files.

    Args:
        index: The agent's index.
        scan: Reads the disk (blocking; runs in a thread).
        tokens: Chunk size in tokens.
        overlap: Tokens shared with the chunk before.
        clock: Wall time.
        disk: Threads that read files.
        on_published: Called after each committed file with what changed, before the pass is reported done.
    """

    def __init__(
        self,
        index: IndexFile,
        scan: Callable[[], Discovery],
        *,
        tokens: int,
        overlap: int,
        clock: Clock,
        disk: trio.CapacityLimiter,
        on_published: Callable[[Published], None],
    ) -> None:
        self._index = index
        self._scan = scan
        self._tokens = tokens
        self._overlap = overlap
        self._clock = clock
        self._on_published = on_published
        self._disk = disk
        self._waiting: list[_Request] = []
        self._wake = trio.Event()
        self.rows: dict[str, FileRow] = {}
        self.refused: dict[str, Found] = {}
        self.reasons: dict[str, Skipped] = {}
        self.skipped: list[Skipped] = []
        self.workspace_missing = False
        self.seen: Discovery | None = None
        self.last_sync_ms: int | None = None
        self.syncing = False

    def __repr__(self) -> str:
        state = "syncing" if self.syncing else "idle"
        return f"<TextSync {state}, {len(self.rows)} files, {len(self._waiting)} waiting>"

    async def load(self) -> None:
        """Read the rows the index holds."""
        self.rows = await self._index.read(load_files)

    def see(self) -> tuple[Discovery, Changes]:
        """Return what is on disk now and how it differs from the index (blocking); changes nothing."""
        disk = self._scan()
        return disk, self.still_behind(disk)

    async def look(self) -> tuple[Discovery, Changes]:
        """Return what `see` returns, without blocking the loop."""
        return await trio.to_thread.run_sync(self.see, limiter=self._disk)

    def still_behind(self, disk: Discovery) -> Changes:
        """Return how a disk looked at earlier differs from the rows as they are now."""
        return compare(disk, self.rows, self.refused)

    async def sync(
        self, *, force: bool = False, progress: ProgressSink = ignore_progress, wait_s: float = math.inf
    ) -> TextReport | None:
        """Have a text pass run that starts after this call, and wait for it.

        Args:
            force: Read and chunk every file again.
            progress: Hears (stage, files done, files in all, path).
            wait_s: How long to wait; the pass goes on without the waiter.

        Returns:
            What the pass did, or None where it took longer.

        Raises:
            MemdError: The pass failed as a whole (an index that can't be written).
        """
        request = _Request(force, progress)
        self._waiting.append(request)
        self._wake.set()
        with trio.move_on_after(wait_s):
            await request.done.wait()
            if request.error is not None:
                raise request.error
            return request.report
        return None

    async def run(self) -> None:
        """Serve requests until cancelled; a failing pass is reported to its waiters and ends nothing."""
        while True:
            await self._wake.wait()
            self._wake = trio.Event()
            batch, self._waiting = self._waiting, []
            self.syncing = True
            try:
                report = await self._pass(
                    force=any(request.force for request in batch),
                    sinks=[request.progress for request in batch],
                )
                for request in batch:
                    request.report = report
            except MemdError as error:
                log.warning(
                    "sync.pass_failed", index=str(self._index.path), code=error.code, error=error.message
                )
                for request in batch:
                    request.error = error
            finally:
                self.syncing = False
                for request in batch:
                    request.done.set()

    async def _pass(self, *, force: bool, sinks: Iterable[ProgressSink]) -> TextReport:
        """Bring the rows to what is on disk now: forget first, then read, newest first."""
        sinks = list(sinks)
        report = TextReport()
        disk = await trio.to_thread.run_sync(self._scan, limiter=self._disk)
        changes = compare(disk, self.rows, self.refused, force=force)
        for row in changes.gone:
            await self._forget(row)
            report.files_removed += 1
        self.refused = {path: found for path, found in self.refused.items() if path in disk.files}
        total = len(changes.read)
        for done, found in enumerate(changes.read, start=1):
            if await self._take(found, force=force):
                report.files_changed += 1
            for sink in sinks:
                sink("text", done, total, found.path)
        if report.files_changed + report.files_removed >= TIDY_FILES:
            await self._index.write(tidy)
        self.reasons = {path: why for path, why in self.reasons.items() if path in self.refused}
        self.skipped = disk.skipped + list(self.reasons.values())
        self.workspace_missing = disk.workspace_missing
        self.seen = disk
        self.last_sync_ms = self._clock()
        return report

    async def _take(self, found: Found, *, force: bool) -> bool:
        """Read one file and publish it; a file that can't be read is listed and the others go on."""
        try:
            file, chunks = await trio.to_thread.run_sync(
                self._read_and_chunk, found, force, limiter=self._disk
            )
        except FileMissingError:
            row = self.rows.get(found.path)
            if row is not None:
                await self._forget(row)
            return True
        except MemdError as error:
            await self._refuse(found, error)
            return True
        row = FileRow(
            found.path,
            found.source,
            file.hash,
            file.mtime_ns,
            file.size,
            file.inode,
            file.ctime_ns,
            self._clock(),
        )
        self.refused.pop(found.path, None)
        if chunks is None:
            await self._index.write(lambda db: touch_file(db, row))
            self.rows[row.path] = row
            return False
        published = await self._index.write(lambda db: publish_file(db, row, chunks, row.indexed_at))
        self.rows[row.path] = row
        self._on_published(published)
        return True

    def _read_and_chunk(self, found: Found, force: bool) -> tuple[FileText, list[Chunk] | None]:
        """Return a file's text and chunks; None for chunks where the text is what the index holds."""
        file = read_file(found)
        row = self.rows.get(found.path)
        if not force and row is not None and row.hash == file.hash:
            return file, None
        return file, chunk_text(file.text, self._tokens, self._overlap) if file.text.strip() else []

    async def _refuse(self, found: Found, error: MemdError) -> None:
        """List a file that can't be indexed and forget what was known of it."""
        log.warning(
            "sync.file_refused", path=found.path, code=error.code, reason=error.data.get("reason", "")
        )
        if error.data.get("reason") != "moving":
            self.refused[found.path] = found
        self.reasons[found.path] = Skipped(found.path, f"{error.message}. {error.hint}")
        row = self.rows.get(found.path)
        if row is not None and error.data.get("reason") != "moving":
            await self._forget(row)

    async def _forget(self, row: FileRow) -> None:
        """Remove a file's rows."""

        def forget(db: Database) -> Published:
            return forget_file(db, row.path)

        published = await self._index.write(forget)
        self.rows.pop(row.path, None)
        self._on_published(published)
