"""The files below one folder, each with its stat: folders without events since the last scan are not listed again."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import is_
from typing import NamedTuple

from memd.sources.discover import LINK, SourceFile, check_descriptors
from memd.sources.watch.queue import WatchQueue

MAX_DEPTH = 12
"""Folders below each other that are walked."""


class TreeFile(NamedTuple):
    """A regular file's location and stat."""

    location: str
    mtime_ns: int
    size: int
    inode: int
    ctime_ns: int

    def source_file(self, path: str, source: str, root: str = "", *, is_talk: bool = False) -> SourceFile:
        """Return the file as one of a source, by its index path; see `SourceFile`."""
        return SourceFile(
            path,
            self.location,
            self.mtime_ns,
            self.size,
            self.inode,
            self.ctime_ns,
            source,
            root,
            is_talk=is_talk,
        )


@dataclass(slots=True)
class _Folder:
    """One listed folder: its files by name, its folders, and names that were left out with the reason."""

    files: dict[str, TreeFile] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class TreeListing:
    """All files below a folder by their path below it, and paths left out with the reason."""

    files: dict[str, TreeFile] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


class FolderTree:
    """Lists the files below a folder. The caller needs its own lock.

    Args:
        root: The folder; may be missing, or a link.
        is_walked: Returns whether a folder is walked, by its path below the root.
        is_wanted: Returns whether a file is listed, by the same.
        queue: Reports changed folders.
    """

    def __init__(
        self,
        root: str,
        is_walked: Callable[[str], bool],
        is_wanted: Callable[[str], bool],
        queue: WatchQueue | None,
    ) -> None:
        self.root = root
        self._is_walked = is_walked
        self._is_wanted = is_wanted
        self._queue = queue
        self._known: dict[str, _Folder] = {}
        self._listing = TreeListing()

    def __repr__(self) -> str:
        return f"<FolderTree {self.root}: {len(self._listing.files)} files>"

    def list(self) -> TreeListing:
        """Return the current files; the same object as before if nothing changed."""
        queue = self._queue
        if queue is None:
            self._list_all()
        elif not (self._known and queue.is_unchanged()):
            with queue.scan():
                changed = queue.changed_folders()
                if changed is None or not self._known:
                    self._list_all()
                else:
                    queue.keep_watching()
                    self._list_changed(changed)
        return self._listing

    def _list_all(self) -> None:
        """List all folders."""
        before, self._listing, self._known = self._listing, TreeListing(), {}
        self._add("")
        if self._listing == before:
            self._listing = before

    def _list_changed(self, changed: frozenset[str]) -> None:
        """List folders with events again, and those that are new in them."""
        paths = [path for path in self._known if self._location(path) in changed]
        if not paths:
            return
        self._listing = TreeListing(dict(self._listing.files), dict(self._listing.skipped))
        for path in paths:
            known = self._known.get(path)
            if known is not None:  # else a folder above it is gone
                self._remove(path, known)
                self._add(path, known)

    def _add(self, path: str, before: _Folder | None = None) -> None:
        """List a folder and the folders below it, except those that were listed before."""
        location = self._location(path)
        if self._queue is not None:
            self._queue.enter(location, is_root=not path)
        listed = self._list_folder(path, location)
        old = before.folders if before is not None else []
        new = listed.folders if listed is not None else []
        for name in set(old) - set(new):
            self._forget(_below(path, name))
        if listed is None:
            self._known.pop(path, None)
            return
        self._known[path] = listed
        self._listing.files.update({_below(path, name): facts for name, facts in listed.files.items()})
        self._listing.skipped.update({_below(path, name): why for name, why in listed.skipped.items()})
        if path.count("/") < MAX_DEPTH:
            for name in sorted(set(new) - set(old)):
                self._add(_below(path, name))

    def _remove(self, path: str, known: _Folder) -> None:
        """Remove the files directly in a folder."""
        for name in known.files:
            self._listing.files.pop(_below(path, name), None)
        for name in known.skipped:
            self._listing.skipped.pop(_below(path, name), None)

    def _forget(self, path: str) -> None:
        """Remove a folder that is gone, and all below it."""
        known = self._known.pop(path, None)
        if known is not None:
            self._remove(path, known)
            for name in known.folders:
                self._forget(_below(path, name))

    def _location(self, path: str) -> str:
        return os.path.join(self.root, path) if path else self.root

    def _list_folder(self, path: str, location: str) -> _Folder | None:
        """Return a folder's entries, or None if it is missing."""
        found = _Folder()
        try:
            with os.scandir(location) as entries:
                for entry in entries:
                    self._take(found, _below(path, entry.name), entry)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            check_descriptors(error)
            found.skipped[""] = f"folder can't be listed: {error.strerror}"
        return found

    def _take(self, found: _Folder, path: str, entry: os.DirEntry[str]) -> None:
        """Add an entry to its folder."""
        try:
            if entry.is_dir(follow_symlinks=False):
                if self._is_walked(path):
                    found.folders.append(entry.name)
                return
            if not self._is_wanted(path):
                return
            facts = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return
        except OSError as error:
            found.skipped[entry.name] = f"can't be read: {error.strerror}"
            return
        if stat.S_ISLNK(facts.st_mode):
            found.skipped[entry.name] = LINK
        elif stat.S_ISREG(facts.st_mode):
            found.files[entry.name] = TreeFile(
                entry.path, facts.st_mtime_ns, facts.st_size, facts.st_ino, facts.st_ctime_ns
            )


class FolderTrees:
    """Lists the files below several folders. The caller needs its own lock.

    Args:
        trees: The folders.
        queues: Those of the folders, which are closed with them.
    """

    def __init__(self, trees: Sequence[FolderTree], queues: Sequence[WatchQueue]) -> None:
        self._trees = trees
        self._queues = queues
        self._listings: list[TreeListing] | None = None

    def __repr__(self) -> str:
        return f"<FolderTrees: {len(self._trees)} folders>"

    def list_if_changed(self) -> list[tuple[FolderTree, TreeListing]] | None:
        """Return each folder's current files, None if nothing changed since the last call."""
        before, self._listings = self._listings, [tree.list() for tree in self._trees]
        if before is not None and all(map(is_, before, self._listings)):
            return None
        return list(zip(self._trees, self._listings, strict=True))

    def close(self) -> None:
        """Stop watching the folders."""
        for queue in self._queues:
            queue.close()


def _below(path: str, name: str) -> str:
    """Return the path of a name in a folder."""
    return f"{path}/{name}" if path else name
