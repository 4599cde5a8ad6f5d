"""A reused scan equals a new one, whatever happens to the files."""

from __future__ import annotations

import contextlib
import mmap
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from memd.settings.schema import ExtraPath
from memd.sources.source import MEMORY
from memd.sources.watch.inotify import Inotify
from memd.sources.watch.queue import MAX_LINKED_FILES, NOTES_VALID_S
from tests.support.edits import Edit, EditedMemory, SearchCheck, random_edits, scripts
from tests.support.listings import record_listings
from tests.support.watched_notes import WatchedNotes
from tests.support.watching import QueueClock, watcher_by

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's alone")

EXTRAS = (
    ExtraPath(path="attic"),
    ExtraPath(path="memory/sub/deep"),
    ExtraPath(path="stray.md"),
    ExtraPath(path="../beside", pattern="*.md"),
    ExtraPath(path="../alone.md"),
)
"""A folder in the workspace, one deep in it, a file in it, a folder and a file outside it."""


@pytest.fixture
def looked(tmp_path: Path) -> Iterator[WatchedNotes]:
    """A workspace with three notes that was scanned once."""
    workspace = tmp_path / "above" / "workspace"
    (workspace / "memory" / "deep").mkdir(parents=True)
    for name in ("MEMORY.md", "memory/a.md", "memory/deep/b.md"):
        (workspace / name).write_text("a note\n")
    looked = WatchedNotes(workspace)
    assert len(looked.find().files) == 3
    yield looked
    looked.notes.close()
    looked.watcher.close()


def test_scan_is_reused_while_nothing_changes(looked: WatchedNotes) -> None:
    first = looked.find()
    for _ in range(10):
        assert looked.find() is first
    assert looked.looks == 1


def test_changes_of_other_files_cause_no_scan(looked: WatchedNotes) -> None:
    (looked.workspace / "src.py").write_text("print()\n")
    (looked.workspace / "node_modules").mkdir()
    (looked.workspace / "node_modules" / "x.md").write_text("not memory\n")
    looked.find()
    assert looked.looks == 1


def make_in_new_folder(root: Path) -> None:
    """Write a note two folders deeper."""
    (root / "memory/x/y").mkdir(parents=True)
    (root / "memory/x/y/z.md").write_text("new\n")


def move_in(root: Path) -> None:
    """Write a note elsewhere and move it in."""
    (root / "c.txt").write_text("x")
    (root / "c.txt").rename(root / "memory/c.md")


def link_note(root: Path) -> None:
    """Replace a note by a link."""
    (root / "memory/a.md").unlink()
    (root / "memory/a.md").symlink_to("deep/b.md")


def link_folder(root: Path) -> None:
    """Replace the folder by a link."""
    (root / "memory").rename(root / "away")
    (root / "memory").symlink_to("away")


def replace_above(root: Path) -> None:
    """Replace a parent folder by a copy with one more note."""
    above = root.parent
    copy = above.with_name("copy")
    shutil.copytree(above, copy)
    (copy / "workspace/memory/new.md").write_text("new\n")
    above.rename(above.with_name("old"))
    copy.rename(above)


CHANGES: dict[str, Callable[[Path], object]] = {
    "written": lambda root: (root / "memory/a.md").write_text("other\n"),
    "made": lambda root: (root / "memory/new.md").write_text("new\n"),
    "made in a new folder": make_in_new_folder,
    "deleted": lambda root: (root / "memory/a.md").unlink(),
    "made in the root": lambda root: (root / "USER.md").write_text("who\n"),
    "renamed": lambda root: (root / "memory/a.md").rename(root / "memory/c.md"),
    "moved in": move_in,
    "moved out": lambda root: (root / "memory/a.md").rename(root / "a.md"),
    "folder moved out": lambda root: (root / "memory/deep").rename(root / "attic"),
    "folder deleted": lambda root: shutil.rmtree(root / "memory/deep"),
    "memory deleted": lambda root: shutil.rmtree(root / "memory"),
    "workspace deleted": shutil.rmtree,
    "times set": lambda root: os.utime(root / "memory/a.md", (1, 1)),
    "mode": lambda root: (root / "memory/a.md").chmod(0o600),
    "cut": lambda root: os.truncate(root / "memory/a.md", 1),
    "a link in its place": link_note,
    "a link for the folder": link_folder,
    "a folder above renamed": lambda root: root.parent.rename(root.parent.with_name("elsewhere")),
    "a folder above replaced": replace_above,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_every_change_is_detected_at_once(looked: WatchedNotes, change: Callable[[Path], object]) -> None:
    change(looked.workspace)
    assert looked.is_right()
    assert looked.looks == 2
    assert looked.is_right()  # and its result, too


def test_change_lists_one_folder_again(looked: WatchedNotes, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = record_listings(monkeypatch)
    (looked.workspace / "memory/deep/b.md").write_text("other\n")
    looked.find()
    assert len(listed) == 1
    assert looked.is_right()


def test_change_in_a_renamed_folder_lists_one_folder_again(
    looked: WatchedNotes, monkeypatch: pytest.MonkeyPatch
) -> None:
    (looked.workspace / "memory/deep").rename(looked.workspace / "memory/other")
    assert looked.is_right()
    listed = record_listings(monkeypatch)
    (looked.workspace / "memory/other/b.md").write_text("other\n")
    looked.find()
    assert len(listed) == 1
    assert looked.is_right()


def test_empty_folders_are_not_opened_again_unless_they_change(
    looked: WatchedNotes, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = looked.workspace / "memory"
    for number in range(100):
        (memory / f"empty{number}").mkdir()
    assert looked.is_right()
    opened = record_listings(monkeypatch)
    # if a note changes, only its folder is listed; long after the last scan, all folders with notes are
    for folders in (1, 1 + 3):
        (memory / "a.md").write_text(f"another note, {looked.clock()}\n")
        looked.find()
        assert len(opened) == folders
        looked.clock.now_s += 2 * NOTES_VALID_S
    (memory / "empty7" / "new.md").write_text("a note\n")
    assert looked.is_right()
    assert "memory/empty7/new.md" in looked.find().files


def test_empty_folder_below_a_replaced_one_is_opened(looked: WatchedNotes) -> None:
    memory = looked.workspace / "memory"
    (memory / "x" / "below").mkdir(parents=True)
    assert looked.is_right()
    # another folder takes the place of `x`, and `below` itself has no event
    (memory / "y" / "below").mkdir(parents=True)
    (memory / "y" / "below" / "note.md").write_text("a note\n")
    (memory / "x").rename(memory / "z")
    (memory / "y").rename(memory / "x")

    assert looked.is_right()
    assert "memory/x/below/note.md" in looked.find().files


def test_scan_is_reused_again_after_a_change(looked: WatchedNotes) -> None:
    (looked.workspace / "memory/a.md").write_text("other\n")
    for _ in range(3):
        looked.find()
    assert looked.looks == 2


def test_change_through_another_hard_link_is_detected(looked: WatchedNotes) -> None:
    second = looked.workspace.parent / "second.md"
    os.link(looked.workspace / "memory/a.md", second)
    (looked.workspace / "memory/c.md").touch()  # a link to a note raises no event in the note's folder
    assert looked.is_right()
    second.write_text("by the other name\n")
    assert looked.is_right()
    looks = looked.looks
    looked.find()
    assert looked.looks == looks


def test_hard_link_that_is_made_later_is_detected_soon(looked: WatchedNotes) -> None:
    second = looked.workspace.parent / "second.md"
    os.link(looked.workspace / "memory/a.md", second)
    second.write_text("by the other name\n")
    looked.clock.now_s += NOTES_VALID_S + 0.1
    assert looked.is_right()
    second.write_text("by the other name again\n")
    assert looked.is_right()


def test_many_notes_with_hard_links_cause_full_scans(looked: WatchedNotes) -> None:
    away = looked.workspace.parent / "away"
    away.mkdir()
    for number in range(MAX_LINKED_FILES + 1):
        note = looked.workspace / "memory" / f"{number}.md"
        note.write_text("x\n")
        os.link(note, away / note.name)
    assert looked.is_right()
    (away / "7.md").write_text("by the other name\n")
    assert looked.is_right()


def test_change_through_a_mapping_is_detected_on_close_or_soon(looked: WatchedNotes) -> None:
    with (looked.workspace / "memory/a.md").open("r+b") as file:
        mapped = mmap.mmap(file.fileno(), 0)
    mapped[0:1] = b"A"
    mapped.flush()
    looked.clock.now_s += NOTES_VALID_S + 0.1
    assert looked.is_right()
    mapped[1:2] = b"B"
    mapped.close()
    assert looked.is_right()


def test_change_through_a_mapping_is_detected_soon_while_other_notes_change(looked: WatchedNotes) -> None:
    with (looked.workspace / "memory/a.md").open("r+b") as file:
        mapped = mmap.mmap(file.fileno(), 0)
    mapped[0:1] = b"A"
    mapped.flush()
    # another folder changes shortly before all folders are due
    looked.clock.now_s += 0.9 * NOTES_VALID_S
    (looked.workspace / "memory/deep/b.md").write_text("other\n")
    looked.find()
    looked.clock.now_s += 0.2 * NOTES_VALID_S
    assert looked.is_right()
    mapped.close()


def test_scan_expires_after_its_validity(looked: WatchedNotes) -> None:
    looked.clock.now_s += NOTES_VALID_S + 0.1
    looked.find()
    assert looked.looks == 2


def test_folder_moved_away_during_a_scan_is_listed_once_it_is_back(
    looked: WatchedNotes, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = looked.workspace / "memory"
    scandir, is_moved = os.scandir, list[bool]()

    def move(folder: int) -> Any:
        """List a folder, and move one in it away before it is listed itself."""
        with scandir(folder) as entries:
            listed = list(entries)
        if any(entry.name == "deep" for entry in listed) and not is_moved:
            (memory / "deep").rename(memory.parent / "away")
            is_moved.append(True)
        return contextlib.nullcontext(listed)

    looked.clock.now_s += 2 * NOTES_VALID_S
    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", move)
        assert "memory/deep/b.md" not in looked.find().files
    (memory.parent / "away").rename(memory / "deep")
    assert looked.is_right()
    assert "memory/deep/b.md" in looked.find().files


def test_change_during_a_scan_is_hinted(looked: WatchedNotes, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = looked.workspace / "memory"
    scandir, hints = os.scandir, looked.queue._hints
    with monkeypatch.context() as patched:

        def change(folder: int) -> Any:
            """Write a note while its folder is listed, and read the event as the watcher does."""
            with scandir(folder) as entries:
                listed = list(entries)
            patched.undo()
            hints._waiting.clear()
            (memory / "new.md").write_text("new\n")
            looked.watcher._events.read()
            return contextlib.nullcontext(listed)

        patched.setattr(os, "scandir", change)
        (memory / "a.md").write_text("other\n")
        assert "memory/new.md" not in looked.find().files
    assert hints._waiting == {("ann", MEMORY)}
    assert looked.is_right()


def test_overflow_of_the_kernel_queue_causes_a_scan(looked: WatchedNotes) -> None:
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    noise = looked.workspace / "memory/noise"
    noise.mkdir()
    looked.find()
    (looked.workspace / "memory/noise/one.txt").touch()
    for _ in range(most // 2 + 8):
        (noise / "one.txt").rename(noise / "two.txt")
        (noise / "two.txt").rename(noise / "one.txt")
    (looked.workspace / "memory/a.md").write_text("after all of that\n")
    assert looked.is_right()


def test_shared_file_system_is_scanned_each_time(tmp_path: Path) -> None:
    device = tmp_path.stat().st_dev
    table = tmp_path / "mountinfo"
    table.write_text(f"1 0 {os.major(device)}:{os.minor(device)} / / rw - nfs4 server:/ rw\n")
    (tmp_path / "memory").mkdir()
    looked = WatchedNotes(tmp_path, watcher=watcher_by(QueueClock(), mount_table=table))
    looked.find()
    assert not looked.queue.is_unchanged()
    assert "is on nfs4, on which changes by other machines raise no file events" in looked.queue.problem
    looked.watcher.close()


def test_local_disk_below_a_shared_file_system_is_followed_by_events(tmp_path: Path) -> None:
    table, server = tmp_path / "mountinfo", tmp_path / "nas"
    table.write_text(
        f"1 0 0:999 / {server} rw - nfs4 server:/ rw\n2 1 8:2 / {server}/local rw - xfs /dev/sdb1 rw\n"
    )
    (server / "local" / "memory").mkdir(parents=True)
    with contextlib.closing(watcher_by(QueueClock(), mount_table=table)) as watcher:
        looked = WatchedNotes(server / "local", watcher=watcher)
        looked.find()
        assert looked.queue.is_unchanged()
        assert looked.queue.problem == ""


@pytest.mark.parametrize("mechanism", ["watchfiles", "poll"])
def test_other_mechanisms_never_reuse_a_scan(looked: WatchedNotes, mechanism: Any) -> None:
    other = WatchedNotes(looked.workspace, watcher=watcher_by(looked.clock, mechanism=mechanism))
    for _ in range(3):
        assert len(other.find().files) == 3
    assert other.looks == 3
    other.watcher.close()


@pytest.mark.parametrize("mechanism", ["watchfiles", "poll"])
def test_all_folders_are_watched_once_the_mechanism_is_inotify_again(
    looked: WatchedNotes, mechanism: Any
) -> None:
    looked.watcher.use(mechanism)
    assert looked.is_right()
    looked.watcher.use("inotify")
    assert looked.is_right()
    (looked.workspace / "memory/a.md").write_text("other\n")
    assert looked.is_right()
    assert looked.queue.is_unchanged()


def test_every_search_scans_without_further_watches(
    looked: WatchedNotes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Inotify, "add", refuse)
    (looked.workspace / "memory/new").mkdir()
    for number in range(3):
        assert looked.is_right()
        assert looked.looks == 2 + number


def test_every_search_scans_without_an_inotify_instance(
    looked: WatchedNotes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Inotify) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(Inotify, "__init__", refuse)
    other = WatchedNotes(looked.workspace, watcher=watcher_by(looked.clock))
    for _ in range(3):
        assert len(other.find().files) == 3
    assert other.looks == 3


def test_agents_sharing_a_workspace_both_receive_events(looked: WatchedNotes) -> None:
    other = WatchedNotes(looked.workspace, (), looked.watcher)
    other.find()
    for text in ("one\n", "two\n"):
        (looked.workspace / "memory/a.md").write_text(text)
        assert looked.is_right()
        assert other.is_right()
    other.notes.close()
    (looked.workspace / "memory/a.md").write_text("and three\n")
    assert looked.is_right()


def test_closed_watcher_never_reuses_a_scan(looked: WatchedNotes) -> None:
    looked.watcher.close()
    (looked.workspace / "memory/a.md").write_text("other\n")
    assert looked.is_right()
    assert looked.is_right()


def test_concurrent_scans_see_all_earlier_writes(looked: WatchedNotes) -> None:
    wrong: list[int] = []

    def ask() -> None:
        for number in range(100):
            name = f"memory/{threading.get_ident()}-{number}.md"
            (looked.workspace / name).write_text("x\n")
            if name not in looked.find().files:
                wrong.append(number)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert looked.is_right()


@pytest.mark.parametrize("extras", [(), EXTRAS, (ExtraPath(path="."),)], ids=["plain", "extras", "all of it"])
@settings(max_examples=40, deadline=None)
@given(script=scripts(looks=False))
def test_reused_scan_equals_the_disk_after_any_edit(
    extras: tuple[ExtraPath, ...], script: list[Edit | SearchCheck]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        memory = EditedMemory(Path(folder) / "workspace")
        beside = Path(folder) / "beside"
        beside.mkdir()
        looked = WatchedNotes(memory.workspace, extras)
        for number, step in enumerate(script):
            if isinstance(step, Edit):
                memory.do(step)
            if number % 5 == 2:
                (beside / f"{number % 3}.md").write_text(f"{number}\n")
                (Path(folder) / "alone.md").write_text(f"{number}\n")
            if number % 7 == 3:
                looked.clock.now_s += 2 * NOTES_VALID_S
            assert looked.is_right()
        looked.watcher.close()


@pytest.mark.parametrize(
    ("edits", "seed"), [(300, 1), pytest.param(10_000, 2, marks=pytest.mark.long)], ids=["some", "many"]
)
def test_after_every_random_edit_the_queue_agrees_with_the_disk(
    tmp_path: Path, edits: int, seed: int
) -> None:
    memory = EditedMemory(tmp_path / "workspace")
    looked = WatchedNotes(memory.workspace, EXTRAS)
    differences = []
    for number, edit in enumerate(random_edits(edits, seed)):
        memory.do(edit)
        if number % 50 == 49:
            looked.clock.now_s += 2 * NOTES_VALID_S
        for _ in range(2):  # the second time mostly without a scan
            if not looked.is_right():
                differences.append((number, edit))
    print(f"{edits} edits, {2 * edits} searches, {looked.looks} looks, {len(differences)} differences")
    assert differences == []
    assert looked.looks < 1.5 * edits
    looked.watcher.close()
