"""The watcher where events fail or are not the whole truth: polling takes over, says why, and finds changes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from itertools import count, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import structlog
import trio
from trio.testing import MockClock
from watchfiles._rust_notify import RustNotify

from memd.sync.disk.filesystems import Mounts
from memd.sync.watch.arming import LONGEST_PAUSE_S, RACES_EXPECTED
from memd.sync.watch.events import EventsFailed, FileEvents, RawChange
from memd.sync.watch.folders import Kind
from memd.sync.watch.watcher import Watcher, WatchPlan, WatchState
from tests.support.tree import ROOT
from tests.support.watching import Heard, armed, reached, watching, workspace_at

INSTANCES_GONE = "Error creating recommended watcher: Too many open files (os error 24)"
WATCHES_GONE = 'OS file watch limit reached. about ["/x"]'

LONG_S = 1_000.0
"""A deadline on a clock that runs fast."""


class Flaky:
    """Arms real events but for the first tries, which fail; notes when it was asked."""

    def __init__(self, clock: trio.abc.Clock, *failures: EventsFailed) -> None:
        self.clock = clock
        self.failures = list(failures)
        self.asked_s: list[float] = []

    def __call__(self, folders: Sequence[str], step_ms: int) -> FileEvents:
        self.asked_s.append(self.clock.current_time())
        if self.failures:
            raise self.failures.pop(0)
        return FileEvents(folders, step_ms)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (RuntimeError(INSTANCES_GONE), "raise it, e.g. `sysctl fs.inotify.max_user_instances=512`"),
        (OSError(WATCHES_GONE), "raise it, e.g. `sysctl fs.inotify.max_user_watches=524288`"),
    ],
)
def test_a_limit_turns_to_polling_and_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, says: str
) -> None:
    failing = [True]

    def notify(*folders: Any, **options: Any) -> RustNotify:
        if failing[0]:
            raise error
        return RustNotify(*folders, **options)

    async def main() -> None:
        memory = workspace_at(tmp_path / "ws") / "memory"
        async with watching(WatchPlan("ann", tmp_path / "ws"), poll_s=0.05, retry_s=0.2) as (watcher, heard):
            # given no events, then polling says why, and finds each kind of change
            await reached(lambda: watcher.state("ann").mode == "polling")
            assert says in watcher.state("ann").reason
            assert repr(watcher) == "<Watcher of 1 agents, 1 polled, 0 folders armed>"
            (memory / "note.md").write_text("x")
            await heard.next("ann")
            (memory / "note.md").write_text("longer")
            await heard.next("ann")
            (memory / "note.md").unlink()
            await heard.next("ann")
            (memory / "new").mkdir()
            (memory / "new" / "note.md").write_text("x")
            await heard.next("ann")
            # and when the limit is out of the way, events are back
            failing[0] = False
            await reached(lambda: watcher.state("ann") == WatchState("events", "", 1_000))
            assert armed(watcher) == 4
            (memory / "new" / "note.md").write_text("y")
            await heard.next("ann")

    monkeypatch.setattr("memd.sync.watch.events.RustNotify", notify)
    with structlog.testing.capture_logs() as logs:
        trio.run(main)
    events = [row["event"] for row in logs if row["log_level"] != "debug"]
    assert events == ["watch.polling", "watch.recovered"]


def test_pauses_grow_while_events_fail_and_polling_bridges_them(tmp_path: Path) -> None:
    clock = MockClock(rate=50)
    arm = Flaky(clock, *[EventsFailed("broken") for _ in range(9)])

    async def main() -> None:
        watcher = Watcher(Heard(), clock=lambda: 1, arm=arm, step_ms=40)
        watcher.watch(WatchPlan("ann", workspace_at(tmp_path / "ws")))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watcher.run)
            await reached(lambda: watcher.state("ann") == WatchState("polling", "broken", 1), LONG_S)
            await reached(lambda: watcher.state("ann").mode == "events", LONG_S)
            # To be armed is not to have recovered: after the last failure's pause nothing more fails for a while.
            assert trio.current_time() - arm.asked_s[-2] >= 2 * LONGEST_PAUSE_S
            nursery.cancel_scope.cancel()

    with structlog.testing.capture_logs() as logs:
        trio.run(main, clock=clock)
    assert [row.get("pause_s", row["event"]) for row in logs if row["event"] != "watch.armed"] == [
        *(0.2, 0.4, 0.8),
        "watch.polling",
        *(1.6, 3.2, 6.4, 10, 10, 10),
        "watch.recovered",
    ]
    assert len(arm.asked_s) == 10


def test_looks_are_as_far_apart_as_they_are_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # given looks that take 50 ms each, by the clock that measures them
    monkeypatch.setattr("memd.sync.watch.watcher.time", SimpleNamespace(perf_counter=count(0, 0.05).__next__))
    clock = MockClock(rate=100)
    asked_s: list[float] = []

    def mounts() -> Mounts:
        asked_s.append(clock.current_time())
        return Mounts()

    async def main() -> None:
        arm = Flaky(clock, EventsFailed("no more", is_limit=True))
        watcher = Watcher(Heard(), clock=lambda: 1, arm=arm, mounts=mounts, retry_s=1e6)
        watcher.watch(WatchPlan("ann", workspace_at(tmp_path / "ws")))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watcher.run)
            await reached(lambda: len(asked_s) > 4, LONG_S)
            nursery.cancel_scope.cancel()

    trio.run(main, clock=clock)
    # then, after the first for events and the one that followed at once, they take half a percent of the time
    assert all(later - sooner >= 200 * 0.05 for sooner, later in pairwise(asked_s[1:]))


def test_a_folder_that_goes_while_it_is_armed_is_no_failure(tmp_path: Path) -> None:
    arm = Flaky(MockClock(), *[EventsFailed("gone", is_race=True) for _ in range(RACES_EXPECTED)])

    async def main() -> None:
        async with watching(WatchPlan("ann", workspace_at(tmp_path / "ws")), arm=arm) as (watcher, _):
            assert len(arm.asked_s) == RACES_EXPECTED + 1
            assert watcher.state("ann").mode == "events"

    with structlog.testing.capture_logs() as logs:
        trio.run(main)
    assert {row["event"] for row in logs} == {"watch.armed"}


class Dying(FileEvents):
    """Ends with an error at the first change."""

    def wait(self) -> set[RawChange] | None:
        """Fail when something is told."""
        changes = super().wait()
        if changes is not None:
            self.close()
            raise EventsFailed("the kernel went away")
        return changes


def test_a_watch_that_dies_is_followed_by_one_and_hints_for_everybody(tmp_path: Path) -> None:
    sources = [Dying, FileEvents]

    async def main() -> None:
        plans = [WatchPlan(name, workspace_at(tmp_path / name)) for name in ("ann", "bob")]
        arm = lambda folders, step_ms: sources.pop(0)(folders, step_ms)  # noqa: E731
        async with watching(*plans, arm=arm) as (watcher, heard):
            (tmp_path / "ann" / "memory" / "note.md").write_text("x")
            # then the agent whose changes nobody saw is hinted too
            await heard.next("bob")
            await reached(lambda: armed(watcher) == 5)
            (tmp_path / "ann" / "memory" / "note.md").write_text("y")
            await heard.next("ann")

    trio.run(main)
    assert sources == []


def test_a_defect_is_logged_and_the_watcher_starts_anew(tmp_path: Path) -> None:
    heard = Heard()

    def hint(agent: str, kind: Kind) -> None:
        if not faults:
            heard(agent, kind)
        else:
            raise faults.pop()

    faults: list[Exception] = [ZeroDivisionError()]

    async def main() -> None:
        watcher = Watcher(hint, clock=lambda: 1, step_ms=40)
        watcher.watch(WatchPlan("ann", workspace_at(tmp_path / "ws")))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watcher.run)
            await reached(lambda: bool(heard.hints), LONG_S)
            nursery.cancel_scope.cancel()

    with structlog.testing.capture_logs() as logs:
        trio.run(main, clock=MockClock(rate=50))
    assert [row["event"] for row in logs if row["log_level"] == "error"] == ["watch.crashed"]


def test_a_workspace_on_a_server_is_polled_and_the_others_are_not(tmp_path: Path) -> None:
    async def main() -> None:
        far, near = workspace_at(tmp_path / "nas" / "far"), workspace_at(tmp_path / "near")
        mounts = Mounts({str(tmp_path / "nas"): "nfs4"}, {-1: "nfs4"})
        plans = (WatchPlan("far", far), WatchPlan("near", near))
        async with watching(*plans, mounts=lambda: mounts, poll_s=0.05) as (watcher, heard):
            await reached(lambda: watcher.state("far").mode == "polling")
            assert "is on nfs4, where changes made elsewhere" in watcher.state("far").reason
            assert watcher.state("near").mode == "events"
            for change in (
                lambda: (far / "memory" / "note.md").write_text("x"),
                lambda: (far / "memory" / "note.md").unlink(),
                lambda: (far / "memory" / "new").mkdir(),
            ):
                change()
                assert set(await heard.next("far")) == {("far", "memory")}
            (near / "memory" / "note.md").write_text("x")
            assert set(await heard.next("near")) == {("near", "memory")}

    trio.run(main)


def _run_crowded(limit: str, folder: Path, *before: str) -> None:
    """Run the story of a limit in a process of its own."""
    told = subprocess.run(
        [
            "sh",
            "-c",
            "; ".join([*before, 'exec "$0" -m tests.support.crowded "$@"']),
            sys.executable,
            limit,
            folder,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert told.returncode == 0, told.stdout + told.stderr


@pytest.mark.parametrize("limit", ["descriptors", "few-descriptors"])
def test_a_process_without_descriptors_polls_as_soon_as_it_can(tmp_path: Path, limit: str) -> None:
    _run_crowded(limit, tmp_path / "ws", "ulimit -n 64")


def _may_set_limits() -> bool:
    """Return whether this user may have limits of its own, in a user namespace."""
    try:
        trial = subprocess.run(
            ["unshare", "-Ur", "sh", "-c", "echo 0 > /proc/sys/user/max_inotify_instances"],
            capture_output=True,
        )
    except OSError:
        return False
    return trial.returncode == 0


@pytest.mark.skipif(not _may_set_limits(), reason="limits can't be set for one process here")
@pytest.mark.parametrize("limit", ["instances", "watches"])
def test_a_user_without_instances_or_watches_is_polled(tmp_path: Path, limit: str) -> None:
    _run_crowded(limit, tmp_path / "ws", 'exec unshare -Ur "$0" -m tests.support.crowded "$@"')
