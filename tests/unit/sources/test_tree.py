"""A listing that follows events equals a new one, whatever happens to the folders."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.sources import folder_tree
from memd.sources.folder_tree import FolderTree
from memd.sources.watch.queue import SOURCES_VALID_S, WatchPlan
from memd.sources.watch.watcher import Watcher
from tests.support.listings import record_listings
from tests.unit.sources.watch.test_queue import QueueClock, watcher_by

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's alone")

NAMES = ("a", "b", "c.jsonl", "d.jsonl", "e.txt")


def is_walked(path: str) -> bool:
    """Return whether a folder is walked."""
    return not path.endswith("skipped")


def is_wanted(path: str) -> bool:
    """Return whether a file is listed."""
    return path.endswith(".jsonl")


class WatchedTree:
    """A folder, and its tree by events."""

    def __init__(self, root: Path, watcher: Watcher) -> None:
        self.root = root
        watcher.watch(WatchPlan("ann", root.parent / "none", has_sources=True))
        self.tree = FolderTree(str(root), is_walked, is_wanted, watcher.queue("ann", "x"))

    def listed(self) -> dict[str, folder_tree.TreeFile]:
        """Return the files according to the tree."""
        return self.tree.list().files

    def really(self) -> dict[str, folder_tree.TreeFile]:
        """Return the files on disk."""
        return FolderTree(str(self.root), is_walked, is_wanted, None).list().files

    def change(self, random: Random) -> None:
        """Create, write, move or delete something."""
        folders = [self.root, *(path for path in self.root.rglob("*") if path.is_dir())]
        every = list(self.root.rglob("*"))
        place = random.choice(folders) / random.choice(NAMES)
        match random.choice(["write", "write", "write", "folder", "move", "delete", "root"]):
            case "write" if place.parent.is_dir() and not place.is_dir():
                with place.open("a") as file:
                    file.write("x")
            case "folder":
                place.mkdir(parents=True, exist_ok=True) if not place.exists() else None
            case "move" if every:
                source = random.choice(every)
                if not place.is_relative_to(source) and not place.exists():
                    os.rename(source, place)
            case "delete" if every:
                gone = random.choice(every)
                shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
            case "root" if random.random() < 0.2:
                os.rename(self.root, self.root.parent / "away")
                if random.random() < 0.5:
                    os.rename(self.root.parent / "away", self.root)
                else:
                    shutil.rmtree(self.root.parent / "away")
                    self.root.mkdir()


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[WatchedTree]:
    """An empty watched folder."""
    root = tmp_path / "root"
    root.mkdir()
    watcher = watcher_by(QueueClock())
    yield WatchedTree(root, watcher)
    watcher.close()


@given(st.integers(0, 2**32))
def test_a_tree_by_events_equals_the_disk_after_any_changes(seed: int) -> None:
    random = Random(seed)
    with TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        root.mkdir()
        watcher = watcher_by(QueueClock())
        watched = WatchedTree(root, watcher)
        for _ in range(30):
            for _ in range(random.randint(1, 4)):
                watched.change(random)
            assert watched.listed() == watched.really()
        watcher.close()


def test_an_unchanged_tree_is_not_listed_again(watched: WatchedTree, monkeypatch: pytest.MonkeyPatch) -> None:
    (watched.root / "a").mkdir()
    (watched.root / "a" / "c.jsonl").write_text("x")
    first = watched.tree.list()
    monkeypatch.setattr(os, "scandir", None)
    assert watched.tree.list() is first


def test_a_change_lists_one_folder_again(watched: WatchedTree, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        (watched.root / name).mkdir()
        (watched.root / name / "c.jsonl").write_text("x")
    watched.listed()
    listed = record_listings(monkeypatch)
    (watched.root / "b" / "c.jsonl").write_text("longer")
    assert watched.listed()["b/c.jsonl"].size == 6
    assert listed == [str(watched.root / "b")]


def test_a_listing_without_events_is_valid_for_a_minute_only(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    clock = QueueClock()
    watcher = watcher_by(clock)
    watched = WatchedTree(root, watcher)
    (root / "c.jsonl").write_text("x")
    os.link(root / "c.jsonl", tmp_path / "other")
    watched.listed()
    (tmp_path / "other").write_text("written through another link")
    clock.now_s += SOURCES_VALID_S + 1
    assert watched.listed() == watched.really()
    watcher.close()
