"""The watcher if events fail or are incomplete: it polls, reports the reason, and finds changes."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio
import watchfiles
from trio.testing import MockClock

from memd.sources.watch import inotify
from memd.sources.watch.inotify import Inotify, explain_limit
from memd.sources.watch.watcher import Listings, Mechanism, Watcher, WatchState
from memd.sources.watch.watchfiles_events import explain_failure
from tests.support.logs import capture_logs
from tests.support.tree import ROOT
from tests.support.watching import HintRecorder, WatchedAgent, run_watcher, wait_for_state, workspace_at

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's alone")

LONG_S = 1_000.0
"""A deadline on a clock that runs fast."""

WATCHES_GONE = 'OS file watch limit reached. about ["/x"]'
INSTANCES_GONE = "Error creating recommended watcher: Too many open files (os error 24)"


@pytest.fixture(autouse=True)
def eager_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let polling use a larger share of the processor."""
    monkeypatch.setattr("memd.sources.watch.watcher.POLL_SHARE", 1)


class Failing:
    """A call that fails until `is_over`."""

    def __init__(self, real: Any, error: Exception) -> None:
        self.real = real
        self.error = error
        self.is_over = False

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        if not self.is_over:
            raise self.error
        return self.real(*arguments, **options)


@pytest.mark.parametrize(
    ("mechanism", "error", "says"),
    [
        ("inotify", OSError(errno.EMFILE, "x"), "e.g. `sysctl fs.inotify.max_user_instances=512`"),
        ("watchfiles", RuntimeError(INSTANCES_GONE), "e.g. `sysctl fs.inotify.max_user_instances=512`"),
        ("watchfiles", OSError(WATCHES_GONE), "e.g. `sysctl fs.inotify.max_user_watches=524288`"),
        ("watchfiles", RuntimeError("broken"), "watchfiles failed: broken"),
    ],
)
async def test_watcher_polls_at_a_limit_and_returns_to_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mechanism: Mechanism, error: Exception, says: str
) -> None:
    if mechanism == "inotify":
        failing = Failing(Inotify, error)
        monkeypatch.setattr(inotify, "Inotify", failing)
    else:
        failing = Failing(watchfiles.watch, error)
        monkeypatch.setattr(watchfiles, "watch", failing)
    memory = workspace_at(tmp_path / "ws") / "memory"
    with capture_logs() as logs:
        options: dict[str, Any] = {"mechanism": mechanism, "poll_s": 0.05, "retry_s": 0.2}
        async with run_watcher(WatchedAgent("ann", tmp_path / "ws"), **options) as (watcher, heard):
            # without events, polling says why, and finds each kind of change
            await wait_for_state(lambda: watcher.state("ann").mode == "polling")
            assert says in watcher.state("ann").reason
            for text in ("x", "longer"):
                (memory / "note.md").write_text(text)
                await heard.next("ann")
            (memory / "note.md").unlink()
            await heard.next("ann")
            # once the limit is raised, events are back
            failing.is_over = True
            await wait_for_state(lambda: watcher.state("ann") == WatchState("events", "", 1_000))
            for text in ("one", "two!"):
                (memory / "note.md").write_text(text)
                await heard.next("ann")
    events = [row["event"] for row in logs if row["level"] == "warning" or row["event"] == "watch.recovered"]
    assert events == ["watch.polling", "watch.recovered"]


async def test_only_the_agent_without_watches_is_polled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, is_full = Inotify.add, [True]

    def add(self: Inotify, folder: str, *, follow: bool = False) -> int:
        is_anns = "/ann/" in os.path.realpath(folder) + "/"
        if is_full[0] and is_anns:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(self, folder, follow=follow)

    monkeypatch.setattr(Inotify, "add", add)
    agents = [WatchedAgent(name, workspace_at(tmp_path / name)) for name in ("ann", "bob")]
    async with run_watcher(*agents, poll_s=0.05, recheck_s=0.2) as (watcher, heard):
        await wait_for_state(lambda: watcher.state("ann").mode == "polling")
        assert "`sysctl fs.inotify.max_user_watches=524288`" in watcher.state("ann").reason
        assert watcher.state("bob").mode == "events"
        for name in ("ann", "bob"):
            (tmp_path / name / "memory" / "note.md").write_text("x")
            await heard.next(name)
        is_full[0] = False
        await wait_for_state(lambda: watcher.state("ann").mode == "events")


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (explain_limit(OSError(errno.ENOSPC, "x")), "raise it, e.g. `sysctl fs.inotify.max_user_watches"),
        (explain_limit(OSError(errno.EMFILE, "x")), "fs.inotify.max_user_instances="),
        (explain_limit(OSError(errno.ENFILE, "x")), "fs.file-max"),
        (explain_failure(OSError("No space left on device (os error 28)")), "fs.inotify.max_user_watches"),
        (explain_failure(RuntimeError("Too many open files in system (os error 23)")), "fs.file-max"),
        (explain_failure(OSError("Input/output error (os error 5)")), "watchfiles failed: Input/output"),
    ],
)
def test_limit_is_named_with_its_remedy(error: str, says: str) -> None:
    assert says in error


def test_missing_descriptors_are_distinguished_from_missing_instances(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(inotify, "_has_descriptors", lambda: False)
    assert "`LimitNOFILE=` of the service, or `ulimit -n`" in explain_limit(OSError(errno.EMFILE, "x"))


async def test_poll_interval_grows_with_the_duration_of_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    # polls take 50 ms each, by the clock that measures them
    times = iter(number / 20 for number in range(1_000_000))
    monkeypatch.setattr(
        "memd.sources.watch.watcher.time", SimpleNamespace(perf_counter=times.__next__, monotonic=lambda: 0.0)
    )
    monkeypatch.setattr("memd.sources.watch.watcher.POLL_SHARE", 200)
    polled_s: list[float] = []

    def find() -> Listings:
        polled_s.append(clock.current_time())
        return {}

    clock = MockClock(rate=100)

    async def main() -> None:
        watcher = Watcher(HintRecorder(), clock=lambda: 1, mechanism="poll")
        watcher.watch("ann", find)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watcher.run)
            await wait_for_state(lambda: len(polled_s) > 4, LONG_S)
            nursery.cancel_scope.cancel()

    await trio.to_thread.run_sync(lambda: trio.run(main, clock=clock))
    assert all(later - sooner >= 200 * 0.05 for sooner, later in pairwise(polled_s))


def test_unexpected_exception_is_logged_and_the_watcher_restarts(tmp_path: Path) -> None:
    heard = HintRecorder()
    faults: list[Exception] = [ZeroDivisionError()]

    def hint(agent: str, source: str) -> None:
        if faults:
            raise faults.pop()
        heard(agent, source)

    async def main() -> None:
        watcher = Watcher(hint, clock=lambda: 1, mechanism="poll")
        heard.follow(watcher, WatchedAgent("ann", workspace_at(tmp_path / "ws")))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watcher.run)
            await wait_for_state(lambda: bool(heard.hints), LONG_S)
            nursery.cancel_scope.cancel()

    with capture_logs() as logs:
        trio.run(main, clock=MockClock(rate=50))
    assert [row["event"] for row in logs if row["level"] == "error"] == ["watch.crashed"]


@pytest.fixture
def mount_table(tmp_path: Path) -> Path:
    """A mount table with a server mounted at `nas`."""
    table = tmp_path / "mountinfo"
    table.write_text(f"1 0 0:999 / {tmp_path}/nas rw - nfs4 server:/ rw\n")
    return table


@pytest.mark.parametrize("mechanism", ["inotify", "watchfiles"])
async def test_only_the_workspace_on_a_server_is_polled(
    tmp_path: Path, mount_table: Path, mechanism: Mechanism
) -> None:
    far, near = workspace_at(tmp_path / "nas" / "far"), workspace_at(tmp_path / "near")
    agents = (WatchedAgent("far", far), WatchedAgent("near", near))
    options: dict[str, Any] = {"mechanism": mechanism, "mount_table": mount_table, "poll_s": 0.05}
    async with run_watcher(*agents, **options) as (watcher, heard):
        await wait_for_state(lambda: watcher.state("far").mode == "polling")
        assert "nas/far is on nfs4, on which changes by other machines" in watcher.state("far").reason
        assert watcher.state("near").mode == "events"
        for text in ("x", "longer"):
            (far / "memory" / "note.md").write_text(text)
            await heard.next("far")
        (near / "memory" / "note.md").write_text("x")
        await heard.next("near")


def _run_crowded(limit: str, folder: Path, *before: str) -> None:
    """Run the scenario of a limit in another process."""
    told = subprocess.run(
        [
            "sh",
            "-c",
            "; ".join([*before, 'exec "$0" -m tests.support.limited_watcher "$@"']),
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
def test_process_without_descriptors_polls_once_possible(tmp_path: Path, limit: str) -> None:
    _run_crowded(limit, tmp_path / "ws", "ulimit -n 64")


def _may_set_limits() -> bool:
    """Return whether this user can have separate limits, in a user namespace."""
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
def test_user_without_instances_or_watches_is_polled(tmp_path: Path, limit: str) -> None:
    _run_crowded(limit, tmp_path / "ws", 'exec unshare -Ur "$0" -m tests.support.limited_watcher "$@"')
