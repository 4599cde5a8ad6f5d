"""The files of a workspace as replication sees them: what is read, left out or waited for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memd.replication.git.repository import EMPTY_ID, blob_id
from memd.replication.names import LocalNames
from memd.replication.workspace import (
    EMPTIED_SETTLE_S,
    MAX_SETTLE_S,
    MAX_WAIT_S,
    MIN_WAIT_S,
    SETTLE_S,
    Settling,
    WorkspaceReader,
    WorkspaceScan,
    is_below,
    is_folding,
)
from memd.sources.capacity import SourceLimits
from memd.sources.notes import WorkspaceNotes

LIMITS = SourceLimits(1_000, 100, 100_000)

NAMES = LocalNames((), is_folding=False)

LINUX = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux reports which files are open for writing"
)

NOTE = "memory/note.md"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with two files."""
    (tmp_path / "memory").mkdir()
    (tmp_path / "MEMORY.md").write_text("m\n")
    (tmp_path / NOTE).write_text("n\n")
    return tmp_path


@contextmanager
def no_listing(folder: Path) -> Iterator[None]:
    """Make a folder that can't be listed, also by root."""
    listed = os.scandir
    identity = folder.stat().st_ino

    def refuse(path: int | str) -> Iterator[os.DirEntry[str]]:
        if os.stat(path).st_ino == identity:
            raise PermissionError(13, "Permission denied")
        return listed(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "scandir", refuse)
        yield


def scan(root: Path, kept: dict[str, str] | None = None) -> WorkspaceScan:
    """Scan a workspace for the first time."""
    return WorkspaceReader(WorkspaceNotes(root).find, LIMITS).scan(NAMES, kept or {})


# --- reading ------------------------------------------------------------------------------------------


def test_scan_returns_memory_and_the_contents_that_are_new(root: Path) -> None:
    (root / "other.md").write_text("no memory")
    found = scan(root, {"MEMORY.md": blob_id(b"m\n")})
    assert found.files == {"MEMORY.md": blob_id(b"m\n"), NOTE: blob_id(b"n\n")}
    assert found.contents == {blob_id(b"n\n"): b"n\n"}
    assert not found.excluded
    assert not found.busy
    assert found.changed_ns[NOTE] >= (root / NOTE).stat().st_mtime_ns


def test_scan_of_an_unchanged_workspace_reads_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = WorkspaceReader(WorkspaceNotes(root).find, LIMITS)
    kept = reader.scan(NAMES, {}).files
    monkeypatch.setattr("memd.replication.workspace.open_file", lambda *_: pytest.fail("a file was opened"))
    assert reader.scan(NAMES, kept).files == kept


def test_scan_after_a_change_with_equal_size_and_time_reads_again(root: Path) -> None:
    reader = WorkspaceReader(WorkspaceNotes(root).find, LIMITS)
    kept = reader.scan(NAMES, {}).files
    before = (root / NOTE).stat()
    (root / NOTE).write_text("x\n")
    os.utime(root / NOTE, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert reader.scan(NAMES, kept).files[NOTE] == blob_id(b"x\n")


def test_scan_returns_a_content_until_the_repository_has_it(root: Path) -> None:
    reader = WorkspaceReader(WorkspaceNotes(root).find, LIMITS)
    assert reader.scan(NAMES, {}).contents == reader.scan(NAMES, {}).contents != {}


def test_missing_workspace_is_reported(tmp_path: Path) -> None:
    found = scan(tmp_path / "gone")
    assert found.is_missing
    assert not found.files


def test_removed_file_is_in_no_part_of_the_scan(root: Path) -> None:
    reader = WorkspaceReader(WorkspaceNotes(root).find, LIMITS)
    reader.scan(NAMES, {})
    (root / NOTE).unlink()
    found = reader.scan(NAMES, {})
    assert NOTE not in {*found.files, *found.excluded, *found.busy}


def test_local_names_are_those_of_the_repository_in_the_scan(root: Path) -> None:
    names = LocalNames(["memory/A.md", "memory/a.md"], is_folding=True)
    (root / names.local("memory/a.md")).write_text("a\n")
    (root / names.local("memory/A.md")).write_text("A\n")
    found = WorkspaceReader(WorkspaceNotes(root).find, LIMITS).scan(names, {})
    assert {path: found.files[path] for path in ("memory/A.md", "memory/a.md")} == {
        "memory/A.md": blob_id(b"A\n"),
        "memory/a.md": blob_id(b"a\n"),
    }


# --- files that are left out --------------------------------------------------------------------------


def link(path: Path) -> None:
    """Replace a file by a link to another."""
    path.rename(path.with_name("target"))
    path.symlink_to("target")


def make_fifo(path: Path) -> None:
    """Replace a file by a named pipe."""
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda path: path.write_bytes(b"x" * 1_001), "it is larger than the limit"),
        (lambda path: path.write_bytes(b"\xff\n"), "it is not text in UTF-8"),
        (lambda path: path.write_bytes(b"a\0b\n"), "it is not text in UTF-8"),
        (link, "links are not followed"),
        (make_fifo, "not a regular file"),
    ],
    ids=["large", "latin-1", "binary", "link", "pipe"],
)
def test_file_that_can_not_be_replicated_is_left_out(
    root: Path, spoil: Callable[[Path], None], reason: str
) -> None:
    spoil(root / NOTE)
    found = scan(root)
    assert set(found.files) == {"MEMORY.md"}
    assert list(found.excluded) == [NOTE]
    assert reason in found.excluded[NOTE]
    assert is_below(NOTE, found.excluded)


@pytest.mark.parametrize("name", ["x\\y.md", "x\u202ey.md", "x\n.md"])
def test_file_with_a_refused_name_is_left_out(root: Path, name: str) -> None:
    (root / "memory" / name).write_text("x")
    found = scan(root)
    assert set(found.files) == {"MEMORY.md", NOTE}
    assert len(found.excluded) == 1


def test_file_with_a_name_that_is_not_utf8_is_left_out(root: Path) -> None:
    with open(os.fsencode(root / "memory") + b"/\xff.md", "wb") as file:
        file.write(b"x")
    found = scan(root)
    assert set(found.files) == {"MEMORY.md", NOTE}
    assert [why for why in found.excluded.values() if "not UTF-8" in why]


def test_file_that_can_not_be_read_does_not_look_deleted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("memd.replication.workspace.open_file", refuse)
    found = scan(root)
    assert found.excluded == dict.fromkeys(("MEMORY.md", NOTE), "it can't be read: Permission denied")


@pytest.mark.parametrize("folder", ["memory", "memory/sub", "."])
def test_folder_that_can_not_be_listed_does_not_look_like_deletions(root: Path, folder: str) -> None:
    (root / "memory/sub").mkdir()
    (root / "memory/sub/x.md").write_text("x")
    with no_listing(root / folder):
        found = scan(root)
    missing = {"MEMORY.md", NOTE, "memory/sub/x.md"} - found.files.keys()
    assert missing
    assert all(is_below(path, found.excluded) for path in missing)


def test_folder_that_became_a_link_does_not_look_like_deletions(root: Path) -> None:
    (root / "memory").rename(root / "elsewhere")
    (root / "memory").symlink_to("elsewhere")
    found = scan(root)
    assert set(found.files) == {"MEMORY.md"}
    assert is_below(NOTE, found.excluded)


@pytest.mark.parametrize(
    ("path", "skipped", "expected"),
    [
        ("memory/a/b.md", "memory/a", True),
        ("memory/a/b.md", "memory", True),
        ("memory/a/b.md", "memory/a/b.md", True),
        ("memory/a/b.md", ".", True),
        ("memory/ab.md", "memory/a", False),
        ("MEMORY.md", "memory", False),
    ],
)
def test_path_below_a_skipped_folder_is_recognized(path: str, skipped: str, expected: bool) -> None:
    assert is_below(path, {skipped: "why"}) is expected


# --- files that are written ---------------------------------------------------------------------------


@LINUX
def test_file_that_is_open_for_writing_is_busy(root: Path) -> None:
    with (root / NOTE).open("a"):
        found = scan(root)
    assert found.busy == {NOTE}
    assert NOTE not in found.files
    assert scan(root).busy == set()


@LINUX
def test_file_that_is_open_for_reading_is_not_busy(root: Path) -> None:
    with (root / NOTE).open():
        assert scan(root).busy == set()


def test_file_that_grows_while_it_is_read_is_busy(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from memd.lifecycle.files import folder_files

    def read_then_write(handle: int, most_bytes: int | None = None) -> bytes:
        data = folder_files.read_bytes(handle, most_bytes)
        with (root / NOTE).open("a") as file:
            file.write("more\n")
        return data

    monkeypatch.setattr("memd.replication.workspace.read_bytes", read_then_write)
    assert NOTE in scan(root).busy


# --- settling -----------------------------------------------------------------------------------------

NEW, OTHER = blob_id(b"new"), blob_id(b"other")

KEPT = {"a": blob_id(b"before")}

WALL_NS = 10**18


class SettlingSteps:
    """Settling of one file `a` along a series of scans."""

    def __init__(self, kept: dict[str, str] | None = None) -> None:
        self._settling = Settling()
        self._kept = KEPT if kept is None else kept

    def at(self, now_s: float, oid: str | None, *, age_s: float | None = None, is_busy: bool = False) -> bool:
        """Scan, and return whether the change has settled."""
        found = WorkspaceScan()
        if age_s is not None:
            found.changed_ns["a"] = WALL_NS - round(age_s * 1e9)
        if is_busy:
            found.busy.add("a")
        changes = {} if is_busy else {"a": oid}
        return "a" in self._settling.settled(changes, found, self._kept, now_s, WALL_NS)

    def next_s(self, now_s: float, *, has_busy: bool = True) -> float | None:
        """Return when another scan is useful."""
        return self._settling.next_s(now_s, has_busy=has_busy)


def test_file_that_has_not_changed_for_a_while_settles_at_once() -> None:
    assert SettlingSteps().at(0, NEW, age_s=SETTLE_S)
    assert not SettlingSteps().at(0, NEW, age_s=SETTLE_S - 0.01)


def test_change_that_is_seen_twice_settles_although_its_time_is_in_the_future() -> None:
    steps = SettlingSteps()
    assert not steps.at(0, NEW, age_s=-3_600)
    assert not steps.at(SETTLE_S - 0.01, NEW, age_s=-3_600)
    assert steps.at(SETTLE_S, NEW, age_s=-3_600)


def test_deletion_settles_when_it_is_seen_twice() -> None:
    steps = SettlingSteps()
    assert not steps.at(0, None)
    assert steps.at(SETTLE_S, None)


def test_change_that_changes_again_settles_later() -> None:
    steps = SettlingSteps()
    assert not steps.at(0, NEW, age_s=0)
    assert not steps.at(SETTLE_S, OTHER, age_s=0)
    assert steps.at(2 * SETTLE_S, OTHER, age_s=0)


def test_file_that_was_emptied_settles_late() -> None:
    steps = SettlingSteps()
    assert not steps.at(0, EMPTY_ID, age_s=EMPTIED_SETTLE_S - 0.01)
    assert steps.at(EMPTIED_SETTLE_S, EMPTY_ID, age_s=0)


def test_new_file_that_is_empty_settles_like_others() -> None:
    assert SettlingSteps({}).at(0, EMPTY_ID, age_s=SETTLE_S)


def test_file_that_changes_all_the_time_settles_in_the_end() -> None:
    steps = SettlingSteps()
    contents = [blob_id(b"%d" % number) for number in range(int(MAX_SETTLE_S) + 1)]
    settled = [steps.at(number, oid, age_s=0) for number, oid in enumerate(contents)]
    assert settled == [False] * int(MAX_SETTLE_S) + [True]


def test_file_that_is_written_to_never_settles() -> None:
    steps = SettlingSteps()
    assert not any(steps.at(number, None, is_busy=True) for number in range(2 * int(MAX_SETTLE_S)))


def test_file_that_is_written_to_is_scanned_again() -> None:
    steps = SettlingSteps()
    steps.at(0, None, is_busy=True)
    assert steps.next_s(0) == SETTLE_S
    assert steps.next_s(0, has_busy=False) is None
    steps.at(1_000, None, is_busy=True)
    assert steps.next_s(1_000) == MAX_WAIT_S
    assert steps.at(1_001, NEW, age_s=SETTLE_S)
    assert steps.next_s(1_001) is None


def test_both_parts_of_a_rename_settle_together() -> None:
    settling = Settling()
    kept = {"old": NEW}
    changes: dict[str, str | None] = {"old": None, "new": NEW}
    found = WorkspaceScan(changed_ns={"new": WALL_NS - 10**12})
    assert settling.settled(changes, found, kept, 0, WALL_NS) == {}
    assert settling.settled(changes, found, kept, SETTLE_S, WALL_NS) == changes


def test_next_scan_is_when_the_first_change_may_have_settled() -> None:
    steps = SettlingSteps()
    assert steps.next_s(0) is None
    steps.at(0, NEW, age_s=0)
    assert steps.next_s(0.4) == pytest.approx(SETTLE_S - 0.4)
    assert steps.next_s(SETTLE_S - MIN_WAIT_S / 2) == pytest.approx(SETTLE_S / 2, abs=MIN_WAIT_S)
    steps.at(SETTLE_S, NEW, age_s=0)
    assert steps.next_s(SETTLE_S) is None


def test_change_that_was_undone_is_forgotten() -> None:
    settling = Settling()
    settling.settled({"a": NEW}, WorkspaceScan(), KEPT, 0, WALL_NS)
    settling.settled({}, WorkspaceScan(), KEPT, 0.5, WALL_NS)
    assert settling.next_s(0.5) is None
    assert settling.settled({"a": NEW}, WorkspaceScan(), KEPT, SETTLE_S, WALL_NS) == {}


# --- file systems -------------------------------------------------------------------------------------


def test_file_system_with_case_is_not_folding(root: Path, tmp_path: Path) -> None:
    has_case = not (root / "MEMORY").exists()
    assert is_folding(root) is not has_case
    assert is_folding(tmp_path / "gone") is False


def test_file_system_with_both_names_of_one_folder_is_folding(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.stat

    def fold(path: str | Path, **options: bool) -> os.stat_result:
        return real(str(path).replace("/MEMORY", "/memory"), **options)

    monkeypatch.setattr("os.stat", fold)
    assert is_folding(root)
