"""When text is synced without a search asking."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from memd.index.files import FileRow
from memd.settings.schema import SessionSync, Sync
from memd.sync.disk.changes import Changes
from memd.sync.disk.discover import Discovery, Found
from memd.sync.schedule import FULL_EVERY_S, SESSION_DEBOUNCE_S, Schedule, has_grown

START_MS = 1_700_000_000_000


class Recorder:
    """Stands in for `TextSync`: notes when it was asked to sync, and is done at once."""

    def __init__(self, last_sync_ms: int | None = START_MS) -> None:
        self.last_sync_ms = last_sync_ms
        self.asked: list[float] = []
        self.rows: dict[str, FileRow] = {}
        self.changes = Changes([], [])

    def sync_nowait(self) -> None:
        """Take the wish down."""
        self.asked.append(round(trio.current_time() - self.started, 3))
        self.last_sync_ms = self.clock()

    def see(self) -> tuple[Discovery, Changes]:
        """Return what the test wants seen."""
        return Discovery(), self.changes

    started = 0.0
    offset_ms = 0

    def clock(self) -> int:
        """Return wall time, which goes with the loop's."""
        return START_MS + self.offset_ms + int((trio.current_time() - self.started) * 1000)


def watch(
    settings: Sync,
    seconds: float,
    act: Callable[[Schedule, Recorder], Awaitable[None]] | None = None,
    recorder: Recorder | None = None,
) -> Recorder:
    """Run a schedule for some seconds of its time, and return what it asked for."""
    text = recorder or Recorder()

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


def test_an_interval_syncs_again_and_again() -> None:
    assert watch(Sync(interval_minutes=1), 200).asked == [60, 120, 180]


def test_without_an_interval_everything_is_looked_at_now_and_then() -> None:
    assert watch(Sync(), FULL_EVERY_S * 2.5).asked == [FULL_EVERY_S, FULL_EVERY_S * 2]


def test_the_interval_goes_on_from_the_last_sync_of_an_earlier_run() -> None:
    earlier = Recorder(last_sync_ms=START_MS - 50_000)
    assert watch(Sync(interval_minutes=1), 80, recorder=earlier).asked == [10, 70]


def test_a_clock_that_was_set_back_puts_nothing_off_for_ever() -> None:
    ahead = Recorder(last_sync_ms=START_MS + 10**9)
    assert watch(Sync(interval_minutes=1), 70, recorder=ahead).asked == [60]


def test_a_sync_for_another_reason_counts_as_one_of_the_interval() -> None:
    async def act(schedule: Schedule, text: Recorder) -> None:
        await trio.sleep(30)
        schedule.compacted()

    assert watch(Sync(interval_minutes=1), 95, act).asked == [30, 90]


def test_a_burst_of_hints_is_one_sync_once_it_is_quiet() -> None:
    async def act(schedule: Schedule, text: Recorder) -> None:
        for _ in range(10):
            schedule.hint("memory")
            await trio.sleep(0.1)

    assert watch(Sync(watch_debounce_ms=1500), 10, act).asked == [2.4]


def test_hints_without_end_are_synced_all_the_same() -> None:
    async def act(schedule: Schedule, text: Recorder) -> None:
        while True:
            schedule.hint("memory")
            await trio.sleep(0.1)

    assert len(watch(Sync(watch_debounce_ms=1500), 15, act).asked) == 2


def test_each_session_syncs_once_at_its_start() -> None:
    async def act(schedule: Schedule, text: Recorder) -> None:
        assert schedule.session_started("agent:main:main")
        assert not schedule.session_started("agent:main:main")
        assert schedule.session_started("agent:main:other")

    assert watch(Sync(), 1, act).asked == [0, 0]


def test_sessions_start_without_a_sync_where_the_settings_say_so() -> None:
    async def act(schedule: Schedule, text: Recorder) -> None:
        assert not schedule.session_started("agent:main:main")

    assert watch(Sync(on_session_start=False), 1, act).asked == []


def test_a_transcript_is_indexed_when_it_has_grown_enough() -> None:
    def transcript(size: int) -> Changes:
        return Changes([Found("sessions/s.jsonl", "/gone", 1, size, 1, 1, "sessions")], [])

    async def act(schedule: Schedule, text: Recorder) -> None:
        text.changes = transcript(999)
        schedule.hint("sessions")
        await trio.sleep(SESSION_DEBOUNCE_S * 2)
        text.changes = transcript(1000)
        schedule.hint("sessions")

    settings = Sync(sessions=SessionSync(delta_bytes=1000, delta_messages=50))
    assert watch(settings, 30, act).asked == [SESSION_DEBOUNCE_S * 3]


# --- growth of a transcript --------------------------------------------------------------------------


LIMITS = SessionSync(delta_bytes=1000, delta_messages=5)


def file(path: Path, lines: int, width: int = 10) -> Found:
    """Write a transcript of so many lines, and return it as a stat tells it."""
    path.write_text(("x" * (width - 1) + "\n") * lines)
    facts = path.stat()
    return Found("sessions/s.jsonl", str(path), 1, facts.st_size, 7, 1, "sessions")


def row(size: int, inode: int = 7) -> FileRow:
    """Return the transcript as it was indexed at a size."""
    return FileRow("sessions/s.jsonl", "sessions", "hash", 1, size, inode, 1, 1)


@pytest.mark.parametrize(
    ("lines", "indexed", "grown"),
    [(10, 100, False), (14, 100, False), (15, 100, True), (3, 100, True), (5, 0, True), (4, 0, False)],
)
def test_messages_count_by_lines_and_a_shorter_file_always(
    tmp_path: Path, lines: int, indexed: int, grown: bool
) -> None:
    assert has_grown(file(tmp_path / "s.jsonl", lines), row(indexed), LIMITS) is grown


def test_bytes_count_without_reading_the_file(tmp_path: Path) -> None:
    found = Found("sessions/s.jsonl", str(tmp_path / "gone"), 1, 1100, 7, 1, "sessions")
    assert has_grown(found, row(100), LIMITS)
    assert not has_grown(found, row(101), LIMITS)


def test_another_file_of_that_name_counts(tmp_path: Path) -> None:
    assert has_grown(file(tmp_path / "s.jsonl", 1), row(10, inode=8), LIMITS)


def test_a_session_in_a_database_counts_its_events() -> None:
    def session(last_event: int) -> Found:
        return Found("sessions/s.jsonl", "/x.sqlite", 1, 10, last_event, 0, "sessions")

    assert has_grown(session(12), row(10, inode=7), LIMITS)
    assert not has_grown(session(11), row(10, inode=7), LIMITS)
    assert has_grown(session(5), None, LIMITS)
