"""Disk versus rows: what to read, what to forget; text first, so that keyword search knows it at once.

One `TextSync` an agent. Its `run` task is the only writer of text; callers request a pass and
waits as long as they like. A search that asks while a sync is under way joins the next one, or, where that
sync is a long one, has the few files that changed since it began taken in between.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from time import perf_counter

import structlog
import trio

from memd.index.connection import IndexFile
from memd.index.files import FileRow
from memd.index.keyword import tidy
from memd.index.meta import find_last_sync, set_last_sync
from memd.sync.disk.changes import Changes, count_behind, grouped, looks_same, oldest_change_ms
from memd.sync.disk.discover import Discovery, Found
from memd.sync.search_scheduler import SearchScheduler
from memd.sync.sources import Sources
from memd.sync.text.file_rows import FileRows, Taken
from memd.system.clock import Clock, has_passed
from memd.system.events import EVENTS
from memd.system.metrics import METER
from memd_client.errors import MemdError
from memd_client.messages import Pending, Skipped

log = structlog.get_logger(__name__)

ProgressSink = Callable[[str, int, int, str], None]
"""Takes (stage, done, total, detail); never blocks."""

TIDY_FILES = 50
"""Changed files in one pass after which the keyword index is worth merging: a question is answered 0.6 ms sooner at
15,000 chunks."""

UNSETTLED_S = 0.2
"""How soon a file that was being written to is looked at again."""

SMALL_PASS_FILES = 64
"""A pass with no more left to do is worth a search's waiting; in a longer one only newer files are taken in
between, at most as many."""

REMEMBER_MS = 10_000
"""How often the time of the last sync is written down: it tells the next run since when something waits."""


def ignore_progress(stage: str, done: int, total: int, detail: str) -> None:
    """Ignore progress."""


@dataclass(slots=True)
class TextReport:
    """What one text pass did."""

    files_changed: int = 0
    files_removed: int = 0


@dataclass(slots=True)
class Request:
    """One caller's wish for a text pass that starts after now; a search brings along what it saw."""

    force: bool = False
    progress: ProgressSink = ignore_progress
    disk: Discovery | None = None
    done: trio.Event = field(default_factory=trio.Event)
    report: TextReport = field(default_factory=TextReport)
    error: MemdError | None = None


@dataclass(slots=True)
class _Extra:
    """A few files a search wants taken in while a long pass is under way."""

    files: list[Found]
    done: trio.Event = field(default_factory=trio.Event)


class TextSync:
    """Keeps one agent's rows equal to the disk."""

    def __init__(
        self,
        index: IndexFile,
        sources: Sources,
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
        self._waiting: list[Request] = []
        self._extras: deque[_Extra] = deque()
        self._todo: dict[str, Found] = {}
        self._left = 0
        self._unsettled: set[str] = set()
        self._remembered_ms = 0
        self.skipped: list[Skipped] = []
        self.last_sync_ms: int | None = None
        self.syncing = False

    def __repr__(self) -> str:
        state = f"{self._left} files to go" if self.syncing else "idle"
        return f"<TextSync {state}, {len(self.rows)} files, {len(self._waiting)} waiting>"

    @property
    def rows(self) -> Mapping[str, FileRow]:
        """What is indexed, by path."""
        return self._rows.by_path

    @property
    def reasons(self) -> Collection[Skipped]:
        """Files that were read and can't be indexed, each with its reason."""
        return self._rows.reasons.values()

    def left_out(self, disk: Discovery) -> list[Skipped]:
        """Return what of a disk isn't indexed: files, and the rest of those that are too large."""
        refused = self._rows.reasons
        partial = [each for each in disk.partial if each.path not in refused]
        return [*disk.skipped, *refused.values(), *partial]

    async def load(self) -> None:
        """Read what the index holds."""
        await self._rows.load()
        self.last_sync_ms = await self._index.read(find_last_sync)

    def see(self) -> tuple[Discovery, Changes]:
        """Return what is on disk now and how it differs from the index (blocking); changes nothing."""
        disk = self.sources.find()
        return disk, self.still_behind(disk)

    async def look(self) -> tuple[Discovery, Changes]:
        """Return what `see` returns, without blocking the loop."""
        return await trio.to_thread.run_sync(self.see, limiter=self._disk)

    def still_behind(self, disk: Discovery) -> Changes:
        """Return how a disk looked at earlier differs from the rows as they are now."""
        return self._rows.behind(disk)

    def pending(
        self, changes: Changes | None, chunks: int, oldest_chunk_ms: int | None, now_ms: int
    ) -> Pending:
        """Return how many files are to be read and chunks to be embedded, and how long the oldest has waited."""
        if not changes and not chunks:
            return Pending()
        since = [oldest_chunk_ms] if chunks else []
        if changes:
            since.append(oldest_change_ms(changes, self.rows, self.last_sync_ms))
        oldest = min((moment for moment in since if moment is not None), default=now_ms)
        return Pending(count_behind(changes, self.rows) if changes else 0, chunks, max(0, now_ms - oldest))

    async def sync(self, *, force: bool = False, progress: ProgressSink = ignore_progress) -> TextReport:
        """Have a text pass run that starts after this call, and wait for it."""
        return await self._finish(self._request(Request(force, progress)))

    def sync_nowait(self) -> None:
        """Have a text pass run that starts after this call."""
        self._request(Request())

    async def catch_up(
        self, disk: Discovery, changes: Changes, wait_s: float, *, patient: bool = False
    ) -> Changes:
        """Bring in what a search saw to have changed, within the time it may spend."""
        started = perf_counter()
        try:
            with trio.move_on_after(wait_s):
                if patient or self._left <= SMALL_PASS_FILES:
                    await self._finish(self._request(Request(disk=disk)))
                else:
                    newer = [found for found in changes.read if self._todo.get(found.path) != found]
                    if newer:
                        extra = _Extra(newer[:SMALL_PASS_FILES])
                        self._extras.append(extra)
                        await extra.done.wait()
            return self.still_behind(disk)
        finally:
            METER.observe(perf_counter() - started, "memd_catch_up_seconds")

    def _request(self, request: Request) -> Request:
        self._waiting.append(request)
        self._wake.set()
        return request

    async def _finish(self, request: Request) -> TextReport:
        """Wait for a pass; return its report or raise its error."""
        await request.done.wait()
        if request.error is not None:
            raise request.error
        return request.report

    # --- the one task that writes -------------------------------------------------------------------

    async def run(self) -> None:
        """Serve requests until cancelled; a failing pass is reported to its waiters and ends nothing."""
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

    async def _run_pass(self, batch: list[Request]) -> TextReport:
        """Bring the rows to what is on disk now: forget first, then read, newest first."""
        started = perf_counter()
        asked = any(request.force for request in batch)
        force = await self._rows.has_other_scheme(forced=asked) or asked
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
        for group in grouped(changes.read):
            await self._yield_to_searches(report)
            await self._take(group, report, force=force)
            self._left -= len(group)
            for found in group:
                self._todo.pop(found.path, None)
            done += len(group)
            for request in batch:
                request.progress("text", done, total, group[-1].path)
        await self._take_extras(report)
        if report.files_changed + report.files_removed >= TIDY_FILES:
            await self._index.write(tidy)
        self._rows.keep_refused(disk)
        await self._rows.remember_scheme()
        self.skipped = self.left_out(disk)
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

    async def _survey(self, batch: list[Request], force: bool) -> tuple[Discovery, Changes]:
        """Return what is on disk and what to do about it.

        What searches just saw is good enough to read files by, not to forget any: one that was made since
        would be forgotten with it.
        """
        seen = [request.disk for request in batch]
        last = seen[-1] if seen else None
        if last is not None and None not in seen and not force:
            changes = self.still_behind(last)
            if not changes.gone:
                return last, changes

        def survey() -> tuple[Discovery, Changes]:
            disk = self.sources.find()
            return disk, self._rows.behind(disk, force=force)

        return await trio.to_thread.run_sync(survey, limiter=self._disk)

    async def _yield_to_searches(self, report: TextReport) -> None:
        """Let searches go first, and take in what they asked for."""
        await self._take_extras(report)
        await self._scheduler.yield_to_searches()

    async def _take_extras(self, report: TextReport) -> None:
        while self._extras:
            extra = self._extras.popleft()
            newer = [found for found in extra.files if not looks_same(self.rows.get(found.path), found)]
            for group in grouped(newer):
                await self._take(group, report)
            extra.done.set()

    async def _take(self, group: list[Found], report: TextReport, *, force: bool = False) -> None:
        """Take some files in, and count what came of them."""
        taken = await self._rows.take(group, force=force)
        report.files_changed += taken.count(Taken.CHANGED)
        report.files_removed += taken.count(Taken.GONE)
        self._unsettled |= {
            found.path for found, what in zip(group, taken, strict=True) if what is Taken.MOVING
        }

    async def _remember(self, started_ms: int) -> None:
        """Note when this pass began, now and then for the next run of the daemon too."""
        self.last_sync_ms = started_ms
        if has_passed(REMEMBER_MS, self._remembered_ms, started_ms):
            self._remembered_ms = started_ms
            await self._index.write(lambda db: set_last_sync(db, started_ms))
