"""A tree that follows events equals a new listing, whatever happens to the folders."""

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

from memd.sources.source import Listing, SourceFile
from memd.sources.tree import Tree, TreeRules
from memd.sources.watch.queue import CONVERSATION_VALID_S, UNWATCHED, Unwatched
from memd.sources.watch.watcher import Watcher
from tests.support.listings import record_listings
from tests.support.watching import QueueClock, watcher_by

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's alone")

NAMES = ("a", "b", "skipped", "c.jsonl", "d.jsonl", "e.txt")

MAX_BYTES = 4
"""Larger files are listed as indexed in part."""


def is_walked(path: str) -> bool:
    """Return whether a folder is walked."""
    return not path.endswith("skipped")


def is_wanted(path: str) -> bool:
    """Return whether a file is listed."""
    return path.endswith(".jsonl")


RULES = TreeRules(is_wanted, is_walked)


class WatchedTree:
    """A folder, and its tree by events."""

    def __init__(self, root: Path, watcher: Watcher) -> None:
        self.root = root
        self.watch = watcher.queue("ann", "x")
        self.watch.valid_s = CONVERSATION_VALID_S
        self.tree = Tree("x", str(root), RULES, prefix="x/", max_bytes=MAX_BYTES)

    def files(self) -> dict[str, SourceFile]:
        """Return the files according to the tree."""
        return update(self.tree, self.watch)

    def listed(self) -> tuple[object, ...]:
        """Return the files according to the tree, and what can't be indexed."""
        self.files()
        return describe(self.tree)

    def really(self) -> tuple[object, ...]:
        """Return the same of a new tree."""
        tree = Tree("x", str(self.root), RULES, prefix="x/", max_bytes=MAX_BYTES)
        update(tree, UNWATCHED)
        return describe(tree)

    def change(self, random: Random) -> None:
        """Create, write, move or delete something."""
        folders = [self.root, *(path for path in self.root.rglob("*") if is_folder(path))]
        every = list(self.root.rglob("*"))
        place = random.choice(folders) / random.choice(NAMES)
        match random.choice(["write", "write", "write", "folder", "link", "move", "delete", "root"]):
            case "write" if place.parent.is_dir() and not (place.is_dir() or place.is_symlink()):
                with place.open("a") as file:
                    file.write("x")
            case "folder":
                place.mkdir(parents=True, exist_ok=True) if not os.path.lexists(place) else None
            case "link" if place.parent.is_dir() and not os.path.lexists(place):
                place.symlink_to(random.choice([self.root.parent, self.root.parent / "none"]))
            case "move" if every:
                source = random.choice(every)
                if not place.is_relative_to(source) and not os.path.lexists(place):
                    os.rename(source, place)
            case "delete" if every:
                gone = random.choice(every)
                shutil.rmtree(gone) if is_folder(gone) else gone.unlink()
            case "root" if random.random() < 0.2:
                os.rename(self.root, self.root.parent / "away")
                if random.random() < 0.5:
                    os.rename(self.root.parent / "away", self.root)
                else:
                    shutil.rmtree(self.root.parent / "away")
                    self.root.mkdir()


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder, and no link."""
    return path.is_dir() and not path.is_symlink()


def update(tree: Tree, watch: Unwatched) -> dict[str, SourceFile]:
    """Update a tree unless nothing changed, and return its files."""
    if not watch.is_unchanged():
        with watch.scan() as scan:
            tree.update(watch, scan)
    return tree.files


def describe(tree: Tree) -> tuple[object, ...]:
    """Return a tree's contents; the order of skipped files doesn't matter."""
    listing = Listing()
    tree.describe(listing)
    return (
        tree.files,
        sorted((file.path, file.reason) for file in listing.skipped),
        sorted((file.path, file.reason) for file in listing.partial),
        tree.is_missing,
    )


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[WatchedTree]:
    """An empty watched folder."""
    root = tmp_path / "root"
    root.mkdir()
    watcher = watcher_by(QueueClock())
    yield WatchedTree(root, watcher)
    watcher.close()


@given(st.integers(0, 2**32))
def test_tree_by_events_equals_a_new_listing_after_any_changes(seed: int) -> None:
    random = Random(seed)
    with TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        root.mkdir()
        clock = QueueClock()
        watcher = watcher_by(clock)
        watched = WatchedTree(root, watcher)
        for _ in range(30):
            for _ in range(random.randint(1, 4)):
                watched.change(random)
            clock.now_s += random.choice([0, 0, 0, CONVERSATION_VALID_S + 1])
            before = watched.tree.files
            copy = before.copy()
            assert watched.listed() == watched.really()
            assert before == copy
        watcher.close()


def test_unchanged_tree_is_not_listed_again(watched: WatchedTree, monkeypatch: pytest.MonkeyPatch) -> None:
    (watched.root / "a").mkdir()
    (watched.root / "a" / "c.jsonl").write_text("x")
    first = watched.files()
    monkeypatch.setattr(os, "scandir", None)
    assert watched.files() is first


def test_files_are_the_same_object_while_no_file_changes(watched: WatchedTree) -> None:
    (watched.root / "c.jsonl").write_text("x")
    first = watched.files()
    (watched.root / "e.txt").write_text("not listed")
    assert watched.files() is first


def test_change_lists_one_folder_again(watched: WatchedTree, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        (watched.root / name).mkdir()
        (watched.root / name / "c.jsonl").write_text("x")
    watched.files()
    listed = record_listings(monkeypatch)
    (watched.root / "b" / "c.jsonl").write_text("longer")
    assert watched.files()["x/b/c.jsonl"].size == 6
    assert len(listed) == 1


def test_new_folders_are_listed_with_all_below_them(watched: WatchedTree) -> None:
    watched.files()
    (watched.root / "a" / "b" / "a").mkdir(parents=True)
    (watched.root / "a" / "b" / "a" / "c.jsonl").write_text("x")
    assert list(watched.files()) == ["x/a/b/a/c.jsonl"]


def test_listing_without_events_is_valid_for_a_minute_only(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    clock = QueueClock()
    watcher = watcher_by(clock)
    watched = WatchedTree(root, watcher)
    (root / "c.jsonl").write_text("x")
    watched.files()
    os.link(root / "c.jsonl", tmp_path / "other")
    (tmp_path / "other").write_text("written through another link")
    clock.now_s += CONVERSATION_VALID_S + 1
    assert watched.listed() == watched.really()
    watcher.close()
