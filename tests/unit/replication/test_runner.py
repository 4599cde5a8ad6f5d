"""The times at which a replica syncs: intervals, triggers, back-off, pauses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import trio
from trio.testing import MockClock

from memd.replication.replica import Replica, SyncReport
from memd.replication.runner import (
    ACTIVE_INTERVAL_S,
    BACKOFF_S,
    INTERVAL_S,
    JITTER,
    MAX_BACKOFF_S,
    OFFLINE_INTERVAL_S,
    ReplicaRunner,
)
from memd.settings.agents import AgentConfig
from memd.settings.schema import MemorySearch
from memd_client.errors import (
    GitFailedError,
    MemdError,
    RemoteRefusedError,
    RemoteRewrittenError,
    RemoteUnreachableError,
)

START_MS = 1_795_000_000_000

CONFIG = AgentConfig("main", Path("/nowhere"), MemorySearch(), Path("/nowhere/index"), is_default=True)

OFFLINE = RemoteUnreachableError("no network", data={"reason": "offline"})


@dataclass(frozen=True, slots=True)
class RecordedSync:
    """One call of `sync`: when, and its arguments."""

    at_s: float
    is_full: bool = True
    is_local: bool = False
    settle: bool = False


@dataclass
class ReplicaRecorder:
    """A stand-in for a replica that records its calls; `error` is raised, and `changes` are committed."""

    error: Exception | None = None
    changes: int = 0
    scan_s: float | None = None
    duration_s: float = 0.0
    calls: list[RecordedSync] = field(default_factory=list)
    config: AgentConfig = CONFIG
    started_s: float = 0.0
    ahead: int = 0

    @property
    def view(self) -> SimpleNamespace:
        """Return what the status needs."""
        return SimpleNamespace(ahead=self.ahead, question=None)

    @property
    def times(self) -> list[float]:
        """Return when the calls were made."""
        return [call.at_s for call in self.calls]

    def close(self) -> None:
        """Record nothing."""

    def next_scan_s(self) -> float | None:
        """Return when a change may have settled."""
        wait_s, self.scan_s = self.scan_s, None
        return wait_s

    async def sync(
        self,
        *,
        is_full: bool = True,
        is_local: bool = False,
        accept_rewrite: bool = False,
        settle: bool = False,
    ) -> SyncReport:
        """Record the call."""
        at_s = round(trio.current_time() - self.started_s, 3)
        self.calls.append(RecordedSync(at_s, is_full, is_local, settle))
        await trio.sleep(self.duration_s)
        committed, self.changes = self.changes, 0
        if self.error is not None and not is_local:
            raise self.error
        return SyncReport(committed=committed, exchanged=is_full or (committed > 0 and not is_local))


Act = Callable[[ReplicaRunner, ReplicaRecorder], Awaitable[None]]


@pytest.fixture(autouse=True)
def without_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make waits exact."""
    monkeypatch.setattr("memd.replication.runner.random.uniform", lambda low, high: (low + high) / 2)


def watch(
    seconds: float,
    act: Act | None = None,
    recorder: ReplicaRecorder | None = None,
    *,
    is_paused: bool = False,
) -> tuple[ReplicaRunner, ReplicaRecorder]:
    """Run a runner for some seconds of its time."""
    replica = recorder or ReplicaRecorder()

    async def scene() -> ReplicaRunner:
        replica.started_s = trio.current_time()
        runner = ReplicaRunner(
            cast(Replica, replica),
            lambda: START_MS + round((trio.current_time() - replica.started_s) * 1000),
            trio.CapacityLimiter(1),
            is_paused=is_paused,
        )
        with trio.move_on_after(seconds):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(runner.run)
                if act is not None:
                    await act(runner, replica)
        return runner

    return trio.run(scene, clock=MockClock(autojump_threshold=0)), replica


def at(seconds: float, do: Callable[[ReplicaRunner, ReplicaRecorder], object]) -> Act:
    """Return an act at a time."""

    async def act(runner: ReplicaRunner, recorder: ReplicaRecorder) -> None:
        await trio.sleep(seconds)
        do(runner, recorder)

    return act


# --- intervals ----------------------------------------------------------------------------------------


def test_replica_without_events_syncs_in_intervals() -> None:
    runner, recorder = watch(2 * INTERVAL_S + 10)
    assert recorder.times == [0, INTERVAL_S, 2 * INTERVAL_S]
    assert all(call.is_full and not call.is_local for call in recorder.calls)
    assert runner.last_sync_ms == START_MS + int(2 * INTERVAL_S * 1000)
    assert runner.state == "ok"


def test_interval_differs_by_the_jitter_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memd.replication.runner.random.uniform", lambda _, high: high)
    _, recorder = watch(2 * INTERVAL_S)
    assert recorder.times == [0, pytest.approx(INTERVAL_S * (1 + JITTER))]


def test_change_is_synced_at_once_without_a_full_sync() -> None:
    _, recorder = watch(20, at(10, lambda runner, _: runner.on_change()))
    assert recorder.calls[1:] == [RecordedSync(10, is_full=False)]


def test_change_that_has_not_settled_is_scanned_again() -> None:
    def change(runner: ReplicaRunner, recorder: ReplicaRecorder) -> None:
        recorder.scan_s = 1.0
        runner.on_change()

    _, recorder = watch(20, at(10, change))
    assert recorder.calls[1:] == [RecordedSync(10, is_full=False), RecordedSync(11, is_full=False)]


def test_change_during_a_sync_is_synced_after_it() -> None:
    _, recorder = watch(60, at(2, lambda runner, _: runner.on_change()), ReplicaRecorder(duration_s=5))
    assert recorder.calls[1:] == [RecordedSync(5, is_full=False)]


@pytest.mark.parametrize(("activity_s", "looked_s"), [(0.5, ACTIVE_INTERVAL_S), (10, 10)])
def test_search_leads_to_a_look_at_the_remote_soon(activity_s: float, looked_s: float) -> None:
    _, recorder = watch(20, at(activity_s, lambda runner, _: runner.on_activity()))
    assert recorder.calls[1:] == [RecordedSync(looked_s)]


def test_search_learns_when_the_look_that_it_leads_to_has_ended() -> None:
    seen: list[tuple[bool, float]] = []

    async def search(runner: ReplicaRunner, recorder: ReplicaRecorder) -> None:
        recorder.duration_s = 1.0
        for at_s in (0.5, 1.5, 3.5):
            await trio.sleep(at_s - (trio.current_time() - recorder.started_s))
            look = runner.on_activity()
            if look is not None:
                await look.wait()
            seen.append((look is not None, round(trio.current_time() - recorder.started_s, 3)))

    recorder = ReplicaRecorder(duration_s=1.0)
    watch(20, search, recorder)
    # The first look is under way. Soon after it there is none, but the search leads to one two seconds later.
    assert seen == [(True, 1.0), (False, 1.5), (True, 4.0)]


def test_searches_lead_to_one_look_each_spacing() -> None:
    async def search(runner: ReplicaRunner, _: ReplicaRecorder) -> None:
        for _step in range(100):
            await trio.sleep(0.1)
            runner.on_activity()

    _, recorder = watch(10.05, search)
    assert recorder.times == [0, 2, 4, 6, 8, 10]


# --- failures -----------------------------------------------------------------------------------------


def test_back_off_after_failures_doubles_up_to_its_limit() -> None:
    _, recorder = watch(3_000, recorder=ReplicaRecorder(OFFLINE))
    waits = [later - earlier for earlier, later in pairwise(recorder.times)]
    doubled = [BACKOFF_S * 2**number for number in range(len(waits))]
    assert waits == [min(MAX_BACKOFF_S, wait_s) for wait_s in doubled]
    assert waits[-1] == MAX_BACKOFF_S


def test_back_off_after_thousands_of_failures_stays_at_its_limit() -> None:
    async def fail(runner: ReplicaRunner, _: ReplicaRecorder) -> None:
        for _step in range(2_000):
            with pytest.raises(RemoteUnreachableError):
                await runner.sync()

    _, recorder = watch(MAX_BACKOFF_S + 1, fail, ReplicaRecorder(OFFLINE))
    assert recorder.times[-1] == MAX_BACKOFF_S


def test_success_after_failures_ends_the_back_off() -> None:
    def recover(_: ReplicaRunner, recorder: ReplicaRecorder) -> None:
        recorder.error = None

    runner, recorder = watch(INTERVAL_S, at(3, recover), ReplicaRecorder(OFFLINE))
    assert recorder.times == [0, 2, 6]
    assert runner.problem is None


def test_change_while_offline_is_committed_without_asking_the_remote() -> None:
    def change(runner: ReplicaRunner, recorder: ReplicaRecorder) -> None:
        recorder.changes = 1
        runner.on_change()

    # The attempts are at 0, 2, 6, 14 and 30 s; the change comes 1 s after the last of them.
    _, recorder = watch(31 + OFFLINE_INTERVAL_S, at(31, change), ReplicaRecorder(OFFLINE))
    local, attempt = recorder.calls[-2:]
    assert local == RecordedSync(31, is_full=False, is_local=True)
    assert attempt == RecordedSync(30 + OFFLINE_INTERVAL_S)


def test_event_without_a_change_while_offline_leaves_the_back_off() -> None:
    _, recorder = watch(50, at(31, lambda runner, _: runner.on_change()), ReplicaRecorder(OFFLINE))
    assert recorder.times == [0, 2, 6, 14, 30, 31]
    assert recorder.calls[-1].is_local


def test_network_change_starts_a_sync_and_resets_the_back_off() -> None:
    _, recorder = watch(40, at(31, lambda runner, _: runner.on_network()), ReplicaRecorder(OFFLINE))
    assert recorder.times == [0, 2, 6, 14, 30, 31, 33, 37]


def test_error_of_a_program_is_contained() -> None:
    runner, recorder = watch(5, recorder=ReplicaRecorder(ZeroDivisionError("a defect")))
    assert recorder.times == [0, 2]
    assert runner.problem is not None
    assert "crashed" in runner.problem.message
    assert runner.state == "failed"


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (OFFLINE, "offline"),
        (RemoteUnreachableError("others push", data={"reason": "contention"}), "offline"),
        (RemoteUnreachableError("no key", data={"reason": "key"}), "failed"),
        (RemoteRefusedError("a link"), "refused"),
        (RemoteRewrittenError("rewritten"), "refused"),
        (GitFailedError("no disk"), "failed"),
    ],
)
def test_state_of_a_failed_replica_names_the_kind_of_error(error: MemdError, state: str) -> None:
    runner, _ = watch(1, recorder=ReplicaRecorder(error))
    assert runner.state == state
    assert runner.problem is error


@pytest.mark.parametrize(
    "recorder", [ReplicaRecorder(ahead=1), ReplicaRecorder(scan_s=100)], ids=["ahead", "scan"]
)
def test_state_of_a_replica_with_unsent_changes_is_pending(recorder: ReplicaRecorder) -> None:
    states: list[str] = []

    async def look(runner: ReplicaRunner, recorder: ReplicaRecorder) -> None:
        await trio.sleep(1)
        recorder.scan_s = recorder.scan_s or (None if recorder.ahead else 1.0)
        states.append(runner.state)

    watch(2, look, recorder)
    assert states == ["pending"]


# --- requests of a user -------------------------------------------------------------------------------


def test_requested_sync_waits_until_changes_have_settled() -> None:
    async def request(runner: ReplicaRunner, _: ReplicaRecorder) -> None:
        await trio.sleep(10)
        await runner.sync()

    _, recorder = watch(INTERVAL_S + 11, request)
    assert recorder.calls[1:] == [RecordedSync(10, settle=True), RecordedSync(INTERVAL_S + 10)]


def test_requested_sync_that_fails_raises_the_error_and_backs_off() -> None:
    async def request(runner: ReplicaRunner, recorder: ReplicaRecorder) -> None:
        await trio.sleep(10)
        recorder.error = OFFLINE
        with pytest.raises(RemoteUnreachableError):
            await runner.sync()

    runner, recorder = watch(13, request)
    assert recorder.times == [0, 10, 12]
    assert runner.problem is OFFLINE


def test_requested_sync_with_unsettled_changes_is_followed_by_a_scan() -> None:
    async def request(runner: ReplicaRunner, recorder: ReplicaRecorder) -> None:
        await trio.sleep(10)
        recorder.scan_s = 1.0
        await runner.sync()

    _, recorder = watch(20, request)
    assert recorder.calls[1:] == [RecordedSync(10, settle=True), RecordedSync(11, is_full=False)]


def test_paused_replica_does_not_sync() -> None:
    def use(runner: ReplicaRunner, _: ReplicaRecorder) -> None:
        runner.is_paused = True
        runner.on_change()
        runner.on_activity()
        runner.on_network()

    runner, recorder = watch(3 * INTERVAL_S, at(1, use))
    assert recorder.times == [0]
    assert runner.state == "paused"


@pytest.mark.parametrize("resumed_s", [1, 10, 2 * INTERVAL_S])
@pytest.mark.parametrize("is_paused", [True, False])
def test_resumed_replica_syncs_at_once(resumed_s: float, is_paused: bool) -> None:
    async def act(runner: ReplicaRunner, recorder: ReplicaRecorder) -> None:
        await trio.sleep(0.5)
        runner.is_paused = True
        recorder.calls.clear()
        await trio.sleep(resumed_s - 0.5)
        runner.resume()

    _, recorder = watch(resumed_s + 1, act, is_paused=is_paused)
    assert recorder.times == [resumed_s]


def test_next_sync_is_known_while_waiting_syncing_and_paused() -> None:
    seen: list[int | None] = []

    async def look(runner: ReplicaRunner, _: ReplicaRecorder) -> None:
        for _step in range(2):
            await trio.sleep(1)
            seen.append(runner.next_sync_ms)
        runner.is_paused = True
        seen.append(runner.next_sync_ms)

    watch(10, look, ReplicaRecorder(duration_s=1.5))
    assert seen == [START_MS + 1_000, START_MS + 1_500 + int(INTERVAL_S * 1000), None]
