"""The schedule of syncs without a search."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from memd.index.files import FileRow
from memd.settings.schema import SessionSync, Sync
from memd.sources.discover import Discovery, SourceFile
from memd.sync.schedule import FULL_SYNC_INTERVAL_S, SESSION_DEBOUNCE_S, Schedule, has_grown
from memd.sync.text.changes import Changes

START_MS = 1_700_000_000_000


class SyncRecorder:
    """A fake `TextSync` that records when a sync was requested."""

    def __init__(self, last_sync_ms: int | None = START_MS) -> None:
        self.last_sync_ms = last_sync_ms
        self.asked: list[float] = []
        self.rows: dict[str, FileRow] = {}
        self.changes = Changes([], [])

    def sync_nowait(self) -> None:
        """Record the request."""
        self.asked.append(round(trio.current_time() - self.started, 3))
        self.last_sync_ms = self.clock()

    def scan(self) -> tuple[Discovery, Changes]:
        """Return the changes that the test set."""
        return Discovery(), self.changes

    started = 0.0
    offset_ms = 0

    def clock(self) -> int:
        """Return wall time, which follows the event loop's."""
        return START_MS + self.offset_ms + int((trio.current_time() - self.started) * 1000)


def watch(
    settings: Sync,
    seconds: float,
    act: Callable[[Schedule, SyncRecorder], Awaitable[None]] | None = None,
    recorder: SyncRecorder | None = None,
) -> SyncRecorder:
    """Run a schedule for some seconds of its time, and return the recorder."""
    text = recorder or SyncRecorder()

    async def scene() -> None:
        text.started = trio.current_time()
        schedule = Schedule(text, settings, clock=text.clock, disk=trio.CapacityLimiter(1))  # type: ignore[arg-type]
        with trio.move_on_after(seconds):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(schedule.run)
                await trio.testing.wait_all_tasks_blocked()
                if act is not None:
                    await act(schedule, text)

    trio.run(scene, clock=MockClock(autojump_threshold=0.01))
    return text


def test_interval_syncs_repeatedly() -> None:
    assert watch(Sync(interval_minutes=1), 200).asked == [60, 120, 180]


def test_full_sync_runs_without_a_configured_interval() -> None:
    assert watch(Sync(), FULL_SYNC_INTERVAL_S * 2.5).asked == [FULL_SYNC_INTERVAL_S, FULL_SYNC_INTERVAL_S * 2]


def test_interval_continues_from_the_last_sync_of_an_earlier_run() -> None:
    earlier = SyncRecorder(last_sync_ms=START_MS - 50_000)
    assert watch(Sync(interval_minutes=1), 80, recorder=earlier).asked == [10, 70]


def test_clock_set_back_does_not_delay_syncs_indefinitely() -> None:
    ahead = SyncRecorder(last_sync_ms=START_MS + 10**9)
    assert watch(Sync(interval_minutes=1), 70, recorder=ahead).asked == [60]


def test_any_sync_restarts_the_interval() -> None:
    async def act(schedule: Schedule, text: SyncRecorder) -> None:
        await trio.sleep(30)
        schedule.compacted()

    assert watch(Sync(interval_minutes=1), 95, act).asked == [30, 90]


def test_burst_of_hints_causes_one_sync_after_a_quiet_time() -> None:
    async def act(schedule: Schedule, text: SyncRecorder) -> None:
        for _ in range(10):
            schedule.hint("memory")
            await trio.sleep(0.1)

    assert watch(Sync(watch_debounce_ms=1500), 10, act).asked == [2.4]


def test_continuous_hints_cause_a_sync() -> None:
    async def act(schedule: Schedule, text: SyncRecorder) -> None:
        while True:
            schedule.hint("memory")
            await trio.sleep(0.1)

    assert len(watch(Sync(watch_debounce_ms=1500), 15, act).asked) == 2


def test_each_session_syncs_once_at_its_start() -> None:
    async def act(schedule: Schedule, text: SyncRecorder) -> None:
        assert schedule.session_started("agent:main:main")
        assert not schedule.session_started("agent:main:main")
        assert schedule.session_started("agent:main:other")

    assert watch(Sync(), 1, act).asked == [0, 0]


def test_session_start_does_not_sync_if_disabled() -> None:
    async def act(schedule: Schedule, text: SyncRecorder) -> None:
        assert not schedule.session_started("agent:main:main")

    assert watch(Sync(on_session_start=False), 1, act).asked == []


def test_transcript_is_synced_after_enough_growth() -> None:
    def transcript(size: int) -> Changes:
        return Changes([SourceFile("sessions/s.jsonl", "/gone", 1, size, 1, 1, "sessions", is_talk=True)], [])

    async def act(schedule: Schedule, text: SyncRecorder) -> None:
        text.changes = transcript(999)
        schedule.hint("sessions")
        await trio.sleep(SESSION_DEBOUNCE_S * 2)
        text.changes = transcript(1000)
        schedule.hint("sessions")

    settings = Sync(sessions=SessionSync(delta_bytes=1000, delta_messages=50))
    assert watch(settings, 30, act).asked == [SESSION_DEBOUNCE_S * 3]


# --- growth of a transcript --------------------------------------------------------------------------


LIMITS = SessionSync(delta_bytes=1000, delta_messages=5)


def file(path: Path, lines: int, width: int = 10) -> SourceFile:
    """Write a transcript with some lines, and return it as a discovered file."""
    path.write_text(("x" * (width - 1) + "\n") * lines)
    facts = path.stat()
    return SourceFile("sessions/s.jsonl", str(path), 1, facts.st_size, 7, 1, "sessions", is_talk=True)


def row(size: int, inode: int = 7) -> FileRow:
    """Return the row of a transcript that was indexed at a size."""
    return FileRow("sessions/s.jsonl", "sessions", "hash", 1, size, inode, 1, 1)


@pytest.mark.parametrize(
    ("lines", "indexed", "grown"),
    [(10, 100, False), (14, 100, False), (15, 100, True), (3, 100, True), (5, 0, True), (4, 0, False)],
)
def test_growth_counts_lines_and_a_shorter_file_always_counts(
    tmp_path: Path, lines: int, indexed: int, grown: bool
) -> None:
    assert has_grown(file(tmp_path / "s.jsonl", lines), row(indexed), LIMITS) is grown


def test_growth_in_bytes_counts_without_reading_the_file(tmp_path: Path) -> None:
    found = SourceFile("sessions/s.jsonl", str(tmp_path / "gone"), 1, 1100, 7, 1, "sessions", is_talk=True)
    assert has_grown(found, row(100), LIMITS)
    assert not has_grown(found, row(101), LIMITS)


def test_replaced_file_counts_as_growth(tmp_path: Path) -> None:
    assert has_grown(file(tmp_path / "s.jsonl", 1), row(10, inode=8), LIMITS)


def test_growth_of_a_database_session_counts_events() -> None:
    def session(last_event: int) -> SourceFile:
        return SourceFile("sessions/s.jsonl", "/x.sqlite", 1, 10, last_event, 0, "sessions", is_talk=True)

    assert has_grown(session(12), row(10, inode=7), LIMITS)
    assert not has_grown(session(11), row(10, inode=7), LIMITS)
    assert has_grown(session(5), None, LIMITS)
