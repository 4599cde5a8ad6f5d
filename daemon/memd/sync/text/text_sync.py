"""Keeps an agent's indexed text equal to the disk, so that keyword search finds changes at once.

There is one `TextSync` per agent. Its `run` task is the only writer of text; callers request a pass and wait for it.
Requests during a pass coalesce into one further pass. During a long pass, a search has the few files that changed
since the pass began indexed in between.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection, Mapping
from time import perf_counter

import trio
from msgspec import Struct, field

from memd.index.connection import IndexFile
from memd.index.files import FileRow
from memd.index.keyword import merge_segments
from memd.index.meta import find_last_sync, set_last_sync
from memd.sources.agent_sources import AgentSources
from memd.sources.source import Listing, SourceFile
from memd.sync.search_scheduler import SearchScheduler
from memd.sync.text.changes import Changes, count_behind, group_files, has_same_stat, oldest_change_ms
from memd.sync.text.file_rows import FileOutcome, FileRows
from memd.system.clock import Clock, has_passed
from memd.system.events import EVENTS
from memd.system.log import log
from memd.system.metrics import METER
from memd_client.errors import MemdError
from memd_client.messages import PendingChanges, SkippedFile

ProgressSink = Callable[[str, int, int, str], None]
"""Takes (stage, done, total, detail); never blocks."""

TIDY_FILES = 50
"""Changed files in one pass after which the keyword index's segments are merged, to speed up queries."""

UNSETTLED_S = 0.2
"""Delay before a file that was being written to is read again."""

SMALL_PASS_FILES = 64
"""A search waits for a pass with at most so many files left; in a longer one at most so many changed files are indexed
in between."""

REMEMBER_MS = 10_000
"""Interval at which the time of the last sync is stored, for the next run of the daemon."""


def ignore_progress(stage: str, done: int, total: int, detail: str) -> None:
    """Ignore progress."""


class TextReport(Struct):
    """Numbers of files that one text pass changed and removed."""

    files_changed: int = 0
    files_removed: int = 0


class SyncRequest(Struct):
    """A request for a text pass that starts after it was made; a search passes its scan of the disk."""

    force: bool = False
    progress: ProgressSink = ignore_progress
    disk: Listing | None = None
    done: trio.Event = field(default_factory=trio.Event)
    report: TextReport = field(default_factory=TextReport)
    error: MemdError | None = None


class _Extra(Struct):
    """Files that a search needs indexed while a long pass is running."""

    files: list[SourceFile]
    done: trio.Event = field(default_factory=trio.Event)


class TextSync:
    """Keeps one agent's rows equal to the disk."""

    def __init__(
        self,
        index: IndexFile,
        sources: AgentSources,
        rows: FileRows,
        *,
        clock: Clock,
        disk: trio.CapacityLimiter,
        scheduler: SearchScheduler,
    ) -> None:
        self._index = index
        self.sources = sources
        self._clock = clock
        self._disk = disk
        self._rows = rows
        self._scheduler = scheduler
        self._wake = trio.Event()
        self._waiting: list[SyncRequest] = []
        self._extras: deque[_Extra] = deque()
        self._todo: dict[str, SourceFile] = {}
        self._left = 0
        self._unsettled: set[str] = set()
        self._remembered_ms = 0
        self.skipped: list[SkippedFile] = []
        self.last_sync_ms: int | None = None
        self.syncing = False

    def __repr__(self) -> str:
        state = f"{self._left} files to go" if self.syncing else "idle"
        return f"<TextSync {state}, {len(self.rows)} files, {len(self._waiting)} waiting>"

    @property
    def rows(self) -> Mapping[str, FileRow]:
        """The rows of indexed files, by path."""
        return self._rows.by_path

    @property
    def reasons(self) -> Collection[SkippedFile]:
        """Files that were read but can't be indexed, each with the reason."""
        return self._rows.reasons.values()

    def excluded(self, disk: Listing) -> list[SkippedFile]:
        """Return the files of a scan that are not indexed, or only in part, with the reasons."""
        refused = self._rows.reasons
        partial = [each for each in disk.partial if each.path not in refused]
        return [*disk.skipped, *refused.values(), *partial]

    async def load(self) -> None:
        """Load the rows and the time of the last sync from the index."""
        await self._rows.load()
        self.last_sync_ms = await self._index.read(find_last_sync)

    def scan(self) -> tuple[Listing, Changes]:
        """Scan the disk and return it with its differences from the index (blocking); read-only."""
        disk = self.sources.find()
        return disk, self.still_behind(disk)

    async def scan_in_thread(self) -> tuple[Listing, Changes]:
        """Run `scan` in a worker thread."""
        return await trio.to_thread.run_sync(self.scan, limiter=self._disk)

    def still_behind(self, disk: Listing) -> Changes:
        """Return the differences between an earlier scan and the current rows."""
        return self._rows.behind(disk)

    def pending(
        self, changes: Changes | None, chunks: int, oldest_chunk_ms: int | None, now_ms: int
    ) -> PendingChanges:
        """Return the numbers of files to index and chunks to embed, and how long the oldest has waited."""
        if not changes and not chunks:
            return PendingChanges()
        since = [oldest_chunk_ms] if chunks else []
        if changes:
            since.append(oldest_change_ms(changes, self.rows, self.last_sync_ms))
        oldest = min((moment for moment in since if moment is not None), default=now_ms)
        return PendingChanges(
            count_behind(changes, self.rows) if changes else 0, chunks, max(0, now_ms - oldest)
        )

    async def sync(self, *, force: bool = False, progress: ProgressSink = ignore_progress) -> TextReport:
        """Request a text pass that starts after this call, and wait for it."""
        return await self._finish(self._request(SyncRequest(force, progress)))

    def sync_nowait(self) -> None:
        """Request a text pass that starts after this call."""
        self._request(SyncRequest())

    async def catch_up(
        self, disk: Listing, changes: Changes, wait_s: float, *, patient: bool = False
    ) -> Changes:
        """Index the changes that a search found, within `wait_s`; return those still not indexed."""
        started = perf_counter()
        try:
            with trio.move_on_after(wait_s):
                if patient or self._left <= SMALL_PASS_FILES:
                    await self._finish(self._request(SyncRequest(disk=disk)))
                else:
                    newer = [found for found in changes.read if self._todo.get(found.path) != found]
                    if newer:
                        extra = _Extra(newer[:SMALL_PASS_FILES])
                        self._extras.append(extra)
                        await extra.done.wait()
            return self.still_behind(disk)
        finally:
            METER.observe(perf_counter() - started, "memd_catch_up_seconds")

    def _request(self, request: SyncRequest) -> SyncRequest:
        self._waiting.append(request)
        self._wake.set()
        return request

    async def _finish(self, request: SyncRequest) -> TextReport:
        """Wait for a pass; return its report or raise its error."""
        await request.done.wait()
        if request.error is not None:
            raise request.error
        return request.report

    # --- the one task that writes -------------------------------------------------------------------

    async def run(self) -> None:
        """Serve requests until cancelled; an error of a pass is raised to the callers that wait for it."""
        while True:
            with trio.move_on_after(UNSETTLED_S if self._unsettled else math.inf):
                await self._wake.wait()
            self._wake = trio.Event()
            batch, self._waiting = self._waiting, []
            self.syncing = True
            try:
                report = await self._run_pass(batch)
                for request in batch:
                    request.report = report
            except MemdError as error:
                self._unsettled.clear()
                log.warning(
                    "sync.pass_failed", index=str(self._index.path), code=error.code, error=error.message
                )
                for request in batch:
                    request.error = error
            finally:
                self.syncing = False
                self._todo, self._left = {}, 0
                for request in batch:
                    request.done.set()
                for extra in self._extras:
                    extra.done.set()
                self._extras.clear()

    async def _run_pass(self, batch: list[SyncRequest]) -> TextReport:
        """Make the rows equal to the disk: delete first, then read, newest first."""
        started = perf_counter()
        requested = any(request.force for request in batch)
        force = await self._rows.has_other_scheme(forced=requested) or requested
        report = TextReport()
        started_ms = self._clock()
        disk, changes = await self._survey(batch, force)
        self._unsettled.clear()
        self._todo = {found.path: found for found in changes.read}
        self._left = len(changes.gone) + len(changes.read)
        for row in changes.gone:
            await self._yield_to_searches(report)
            await self._rows.forget(row)
            report.files_removed += 1
            self._left -= 1
        total = len(changes.read)
        done = 0
        conversations = [file for file in changes.read if file.is_conversation and total <= SMALL_PASS_FILES]
        # First what sessions read, then the notes that they wrote.
        for files in conversations, [file for file in changes.read if file not in conversations]:
            for group in group_files(files):
                await self._yield_to_searches(report)
                await self._take(group, report, force=force)
                self._left -= len(group)
                for found in group:
                    self._todo.pop(found.path, None)
                done += len(group)
                for request in batch:
                    request.progress("text", done, total, group[-1].path)
            await self._rows.compare_new_texts()
        await self._take_extras(report)
        if report.files_changed + report.files_removed >= TIDY_FILES:
            await self._index.write(merge_segments)
        self._rows.keep_refused(disk)
        await self._rows.remember_scheme()
        self.skipped = self.excluded(disk)
        await self._remember(started_ms)
        if report.files_changed or report.files_removed:
            EVENTS.publish(
                "sync",
                self._rows.agent_id,
                files_changed=report.files_changed,
                files_removed=report.files_removed,
                took_ms=round((perf_counter() - started) * 1000, 1),
            )
        return report

    async def _survey(self, batch: list[SyncRequest], force: bool) -> tuple[Listing, Changes]:
        """Return a scan of the disk and its differences from the index.

        The scans of the requesting searches are reused to read files, but not to delete rows: a file created after such
        a scan would be deleted with them.
        """
        seen = [request.disk for request in batch]
        last = seen[-1] if seen else None
        if last is not None and None not in seen and not force:
            changes = self.still_behind(last)
            if not changes.gone:
                return last, changes

        def survey() -> tuple[Listing, Changes]:
            disk = self.sources.find()
            return disk, self._rows.behind(disk, force=force)

        return await trio.to_thread.run_sync(survey, limiter=self._disk)

    async def _yield_to_searches(self, report: TextReport) -> None:
        """Index the files that searches wait for, then wait for running searches."""
        await self._take_extras(report)
        await self._scheduler.yield_to_searches()

    async def _take_extras(self, report: TextReport) -> None:
        while self._extras:
            extra = self._extras.popleft()
            newer = [found for found in extra.files if not has_same_stat(self.rows.get(found.path), found)]
            for group in group_files(newer):
                await self._take(group, report)
            extra.done.set()

    async def _take(self, group: list[SourceFile], report: TextReport, *, force: bool = False) -> None:
        """Index some files and count the outcomes."""
        taken = await self._rows.take(group, force=force)
        report.files_changed += taken.count(FileOutcome.CHANGED)
        report.files_removed += taken.count(FileOutcome.DELETED)
        self._unsettled |= {
            found.path for found, outcome in zip(group, taken, strict=True) if outcome is FileOutcome.BUSY
        }

    async def _remember(self, started_ms: int) -> None:
        """Record when this pass began, and occasionally store it for the next run of the daemon."""
        self.last_sync_ms = started_ms
        if has_passed(REMEMBER_MS, self._remembered_ms, started_ms):
            self._remembered_ms = started_ms
            await self._index.write(lambda db: set_last_sync(db, started_ms))
