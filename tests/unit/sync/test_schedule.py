"""The schedule of syncs without a search."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio
from trio.testing import MockClock

from memd.index.files import FileRow
from memd.settings.schema import SessionSync, Sync
from memd.sources.agent_sources import AgentSources
from memd.sources.capacity import SourceLimits
from memd.sources.source import MEMORY, FileText, Listing, Source, SourceFile
from memd.sync.schedule import FULL_SYNC_INTERVAL_S, SESSION_DEBOUNCE_S, Schedule, has_grown
from memd.sync.text.changes import Changes
from memd.system.safe_open import FileStat

START_MS = 1_700_000_000_000


class GrowingTalk(Source):
    """Conversations whose growth a test sets."""

    name = "sessions"
    is_conversation = True

    def __init__(self) -> None:
        self.grown: tuple[int, int] | None = (0, 0)

    def find(self) -> Listing:
        """Return nothing."""
        return Listing()

    def load(self, found: SourceFile) -> FileText:
        """Return no text."""
        raise NotImplementedError

    def growth(self, found: SourceFile, indexed: FileStat | None) -> tuple[int, int] | None:
        """Return the growth that the test set."""
        return self.grown

    def close(self) -> None:
        """Do nothing."""


MESSAGE = SourceFile("sessions/s.jsonl", "/gone", 1, 999, 1, 1, "sessions", is_conversation=True)
LIMITS = SourceLimits(10**6, 100, 10**9)


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

    def scan(self) -> tuple[Listing, Changes]:
        """Return the changes that the test set."""
        return Listing(), self.changes

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
    talk: GrowingTalk | None = None,
) -> SyncRecorder:
    """Run a schedule for some seconds of its time, and return the recorder."""
    text = recorder or SyncRecorder()
    sources = AgentSources([talk or GrowingTalk()], LIMITS)

    async def scene() -> None:
        text.started = trio.current_time()
        schedule = Schedule(text, sources, settings, clock=text.clock, disk=trio.CapacityLimiter(1))  # type: ignore[arg-type]
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
            schedule.hint(MEMORY)
            await trio.sleep(0.1)

    assert watch(Sync(watch_debounce_ms=1500), 10, act).asked == [2.4]


def test_continuous_hints_cause_a_sync() -> None:
    async def act(schedule: Schedule, text: SyncRecorder) -> None:
        while True:
            schedule.hint(MEMORY)
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


def test_conversation_is_synced_after_enough_growth() -> None:
    talk = GrowingTalk()

    async def act(schedule: Schedule, text: SyncRecorder) -> None:
        text.changes = Changes([MESSAGE], [])
        talk.grown = 999, 0
        schedule.hint("sessions")
        await trio.sleep(SESSION_DEBOUNCE_S * 2)
        talk.grown = 1_000, 0
        schedule.hint("sessions")

    settings = Sync(sessions=SessionSync(delta_bytes=1000, delta_messages=50))
    assert watch(settings, 30, act, talk=talk).asked == [SESSION_DEBOUNCE_S * 3]


def test_hint_of_another_source_of_notes_syncs_as_soon_as_that_of_the_workspace() -> None:
    async def act(schedule: Schedule, text: SyncRecorder) -> None:
        schedule.hint("vault")

    assert watch(Sync(watch_debounce_ms=1500), 10, act).asked == [1.5]


@pytest.mark.parametrize(
    ("grown", "is_enough"),
    [((999, 4), False), ((1_000, 0), True), ((0, 5), True), ((0, 0), False), (None, True)],
)
def test_growth_counts_in_bytes_and_messages_and_other_changes_always_count(
    grown: tuple[int, int] | None, is_enough: bool
) -> None:
    talk = GrowingTalk()
    talk.grown = grown
    limits = SessionSync(delta_bytes=1_000, delta_messages=5)
    row = FileRow(MESSAGE.path, MESSAGE.source, "hash", 1, 100, 7, 1, 1)
    assert has_grown(AgentSources([talk], LIMITS), MESSAGE, row, limits) is is_enough
    assert has_grown(AgentSources([talk], LIMITS), MESSAGE, None, limits) is is_enough
