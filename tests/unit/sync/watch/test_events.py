"""File events: what watchfiles tells, what it can't, and what its errors mean to a person."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

import pytest
from watchfiles import Change

from memd.sync.disk.filesystems import Mounts
from memd.sync.watch import events
from memd.sync.watch.events import WATCH_DESCRIPTORS, EventsFailed, FileEvents, explain, read_changes
from memd.sync.watch.folders import Layout, WatchPlan, survey

DESCRIPTORS = Path("/proc/self/fd")


def _layout(workspace: Path, *sessions: Path) -> Layout:
    return survey([WatchPlan("ann", workspace, (), sessions)], Mounts(), (), "listened")


def _workspace(root: Path) -> Path:
    (root / "memory").mkdir(parents=True)
    return root


def test_a_file_told_of_is_the_file_written(tmp_path: Path) -> None:
    events = FileEvents([str(tmp_path)])
    (tmp_path / "a.md").write_text("x")
    assert events.wait() == {(Change.added, str(tmp_path / "a.md"))}
    events.close()
    events.close()


def test_a_stopped_watch_ends_and_holds_nothing(tmp_path: Path) -> None:
    events = FileEvents([str(tmp_path)])
    told: list[object] = []
    waiting = threading.Thread(target=lambda: told.append(events.wait()))
    waiting.start()
    events.stop()
    waiting.join(5)
    assert told == [None]
    with pytest.raises(EventsFailed, match="closed"):
        events.wait()
    assert repr(events) == "<FileEvents of 1 folders, stopped>"


def test_a_folder_that_is_gone_is_a_race(tmp_path: Path) -> None:
    with pytest.raises(EventsFailed) as raised:
        FileEvents([str(tmp_path), str(tmp_path / "gone")])
    assert (raised.value.is_race, raised.value.is_limit) == (True, False)


def test_a_name_that_is_not_utf8_ends_the_watch(tmp_path: Path) -> None:
    events = FileEvents([str(tmp_path)])
    open(os.fsencode(tmp_path) + b"/caf\xe9.md", "w").close()
    with pytest.raises(EventsFailed, match="not UTF-8; rename it") as raised:
        events.wait()
    assert not raised.value.is_limit


def _held() -> int:
    """Return how many descriptors this process holds for waiting and watching."""
    held = 0
    for name in os.listdir(DESCRIPTORS):
        with contextlib.suppress(FileNotFoundError):  # closed since
            held += os.readlink(DESCRIPTORS / name).startswith("anon_inode:")
    return held


def _nothing_is_held() -> None:
    """Wait until what was closed is: an instance's own thread does that, a moment later."""
    moment = threading.Event()
    while _held():
        moment.wait(0.001)


@pytest.mark.skipif(not DESCRIPTORS.exists(), reason="descriptors can't be counted here")
def test_descriptors_do_not_grow_with_files_or_folders(tmp_path: Path) -> None:
    held = []
    for count, folders in ((10, 1), (2_000, 1), (2_000, 50)):
        root = tmp_path / f"{count}-{folders}"
        watched = [root / str(number) for number in range(folders)]
        for folder in watched:
            folder.mkdir(parents=True)
        for number in range(count):
            (watched[number % folders] / f"{number}.md").touch()
        _nothing_is_held()
        events = FileEvents([str(folder) for folder in watched])
        held.append(_held())
        events.close()
    assert held == [WATCH_DESCRIPTORS] * 3


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('OS file watch limit reached. about ["/x"]', "raise it, e.g. `sysctl fs.inotify.max_user_watches"),
        ("No space left on device (os error 28)", "raise it, e.g. `sysctl fs.inotify.max_user_watches"),
        (
            "Error creating recommended watcher: Too many open files (os error 24)",
            "fs.inotify.max_user_instances=",
        ),
        ("Too many open files in system (os error 23)", "fs.file-max"),
    ],
)
def test_a_limit_is_named_with_the_way_out(text: str, says: str) -> None:
    failure = explain(OSError(text))
    assert failure.is_limit
    assert says in failure.reason


def test_a_process_without_descriptors_is_told_from_a_user_without_instances(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(events, "_has_descriptors", lambda: False)
    failure = explain(RuntimeError("Error creating recommended watcher: Too many open files (os error 24)"))
    assert failure.is_limit
    assert "`LimitNOFILE=` of the service, or `ulimit -n`" in failure.reason


def test_other_failures_are_told_as_they_are() -> None:
    failure = explain(OSError("Input/output error (os error 5)"))
    assert (failure.reason, failure.is_limit) == ("watchfiles failed: Input/output error (os error 5)", False)


def test_notes_and_folders_concern_their_agent(tmp_path: Path) -> None:
    workspace = _workspace(tmp_path / "ws")
    layout = _layout(workspace)
    for name in ("MEMORY.md", "memory/a.md"):
        assert read_changes(layout, [(Change.modified, str(workspace / name))]).hints == {("ann", "memory")}
    (workspace / "memory" / "new").mkdir()
    seen = read_changes(layout, [(Change.added, str(workspace / "memory" / "new"))])
    assert (seen.hints, seen.replan, seen.rearm) == ({("ann", "memory")}, {("ann", "memory")}, False)


@pytest.mark.parametrize("change", [Change.added, Change.deleted])
def test_a_watched_folder_that_goes_or_comes_is_armed_anew(tmp_path: Path, change: Change) -> None:
    workspace = _workspace(tmp_path / "ws")
    layout = _layout(workspace)
    for folder in (workspace, workspace / "memory", tmp_path):
        seen = read_changes(layout, [(change, str(folder))])
        assert (seen.hints, seen.rearm) == ({("ann", "memory")}, True)


def test_what_can_not_matter_concerns_nobody(tmp_path: Path) -> None:
    workspace, sessions = _workspace(tmp_path / "ws"), tmp_path / "sessions"
    sessions.mkdir()
    layout = _layout(workspace, sessions)
    for name in (
        "tool.py",
        "README.md",
        "src/",
        "memory/main.memd.sqlite-wal",
        "memory/.git/",
        "memory/venv/",
    ):
        path = workspace / name
        path.mkdir() if name.endswith("/") else path.write_text("x")
        for change in Change:
            seen = read_changes(layout, [(change, str(path))])
            assert (name, seen.hints, seen.replan) == (name, set(), set())
    beside = [(Change.added, str(tmp_path / "other")), (Change.added, str(sessions / "sessions.json"))]
    assert read_changes(layout, beside).hints == set()


def test_a_folder_that_went_before_it_was_known_is_hinted(tmp_path: Path) -> None:
    workspace = _workspace(tmp_path / "ws")
    layout = _layout(workspace, tmp_path / "sessions")
    seen = read_changes(layout, [(Change.deleted, str(workspace / "memory" / "tree"))])
    assert seen.hints == {("ann", "memory")}


def test_a_log_that_holds_nothing_is_a_readers(tmp_path: Path) -> None:
    sessions = tmp_path / "agent"
    sessions.mkdir()
    layout = _layout(_workspace(tmp_path / "ws"), sessions)
    log = sessions / "openclaw-agent.sqlite-wal"
    log.touch()
    assert read_changes(layout, [(Change.added, str(log))]).hints == set()
    log.write_text("frames")
    assert read_changes(layout, [(Change.modified, str(log))]).hints == {("ann", "sessions")}
    log.unlink()
    assert read_changes(layout, [(Change.deleted, str(log))]).hints == set()
