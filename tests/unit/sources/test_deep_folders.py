"""Deeply nested folders: the cost of a folder is independent of its depth, and no path is too long."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memd.sources.notes import NotesFolder, NotesSource, WorkspaceNotes, trees_of
from memd.sources.read import read_file
from memd.sources.source import MEMORY, Listing
from memd.sources.watch.watcher import Watcher
from memd.system.safe_open import FolderWalk, open_folder

MB = 1_000_000

DEPTH = 600
"""With names of ten letters the deepest path has 6,600: PATH_MAX is 4,096."""


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Path]:
    made = tmp_path / "workspace"
    (made / "memory").mkdir(parents=True)
    yield made
    subprocess.run(["rm", "-rf", str(made)], check=True)  # Python's own way is recursive


def nest(folder: Path, depth: int, *, beside: bool = False) -> None:
    """Nest folders, each with a note; with `beside` each has a sibling folder with a note."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        for name in ("deeper" * 2, "beside") if beside else ("deeper" * 2,):
            os.mkdir(name, dir_fd=here)
            there = os.open(name, os.O_RDONLY, dir_fd=here)
            os.close(os.open("note.md", os.O_CREAT | os.O_WRONLY, dir_fd=there))
            if name == "beside":
                os.close(there)
            else:
                deeper = there
        os.close(here)
        here = deeper
    os.close(here)


def counted(monkeypatch: pytest.MonkeyPatch, workspace: Path) -> tuple[int, Listing]:
    """Return how many descriptors a scan of a workspace opens, and its result."""
    count = 0
    real = os.open

    def counting(*arguments: Any, **named: Any) -> int:
        nonlocal count
        count += 1
        return real(*arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", counting)
        found = WorkspaceNotes(workspace, (), MB).find()
    return count, found


@pytest.mark.parametrize("beside", [False, True])
def test_scan_opens_each_folder_a_few_times_at_any_depth(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, *, beside: bool
) -> None:
    nest(workspace / "memory", DEPTH, beside=beside)

    opened, found = counted(monkeypatch, workspace)

    folders = DEPTH * (2 if beside else 1)
    assert len(found.files) == folders
    assert not found.skipped
    assert opened <= 4 * folders


def test_note_beyond_the_longest_path_is_found_read_and_watched(workspace: Path) -> None:
    nest(workspace / "memory", DEPTH)
    watcher = Watcher(lambda *_: None, clock=lambda: 1)
    queue = watcher.queue("ann", MEMORY)

    found = WorkspaceNotes(workspace, (), MB, queue).find()

    deepest = max(found.files.values(), key=lambda each: len(each.path))
    assert len(deepest.location) > 4096
    assert read_file(deepest, MB).text == ""
    assert queue.is_unchanged()
    # it is written to
    folder = open_folder(str(workspace), deepest.path.split("/")[:-1])
    note = os.open("note.md", os.O_WRONLY, dir_fd=folder)
    os.write(note, b"x")
    os.close(note)
    os.close(folder)
    assert not queue.is_unchanged()
    watcher.close()


def test_vault_of_any_depth_is_walked(workspace: Path) -> None:
    nest(workspace / "memory", DEPTH)

    found = NotesSource("vault", trees_of("vault", [NotesFolder(workspace / "memory")], MB), MB).find()

    assert len(found.files) == DEPTH
    assert not found.skipped


def names(walk: FolderWalk, depth: int, name: str) -> list[str]:
    with os.scandir(walk.enter(depth, name).descriptor) as entries:
        return sorted(entry.name for entry in entries)


def test_folder_moved_during_a_walk_does_not_redirect_it(tmp_path: Path) -> None:
    (tmp_path / "top" / "a" / "b" / "c").mkdir(parents=True)
    (tmp_path / "top" / "a" / "other").mkdir()
    (tmp_path / "top" / "a" / "other" / "inside.md").touch()
    (tmp_path / "elsewhere" / "other").mkdir(parents=True)
    (tmp_path / "elsewhere" / "other" / "outside.md").touch()
    walk = FolderWalk(str(tmp_path), str(tmp_path / "top"))
    assert names(walk, 0, "top") == ["a"]
    assert names(walk, 1, "a") == ["b", "other"]
    assert names(walk, 2, "b") == ["c"]
    assert names(walk, 3, "c") == []

    (tmp_path / "top" / "a" / "b").rename(tmp_path / "elsewhere" / "b")

    assert names(walk, 2, "other") == ["inside.md"]
    with pytest.raises(FileNotFoundError):
        names(walk, 2, "b")
    assert names(walk, 2, "other") == ["inside.md"]
    walk.close()
