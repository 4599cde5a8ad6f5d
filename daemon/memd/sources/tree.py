"""The files of a folder and of the folders below it, each with its stat.

This runs inside every search, so it is written for speed: only folders with events are listed again, with one `scandir`
per folder, one `stat` per file, and strings instead of path objects. Folders are opened by descriptor
(`memd.system.safe_open`), so that no file behind a symbolic link is included.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from msgspec import Struct, field

from memd.sources.source import Listing, SourceFile, shown
from memd.sources.watch.queue import UNWATCHED, Scan, Unwatched
from memd.system import units
from memd.system.safe_open import NO_DESCRIPTOR, FolderWalk, SymlinkInPathError, stat_of
from memd_client.errors import FileUnreadableError
from memd_client.messages import SkippedFile

LINK = "symbolic link; links are not followed"
"""Reason for skipping a link and files behind it."""


class TreeRules(NamedTuple):
    """Which files and folders of a tree count, by their path below its root, with `/` between names.

    Attributes:
        is_wanted: Returns whether a file counts.
        is_walked: Returns whether a folder may have files that count.
        ending: Files whose names end with these three characters count without asking; empty: none.
        root_names: The only names in the root that count; of two names of one file the first. Empty: all names.
    """

    is_wanted: Callable[[str], bool]
    is_walked: Callable[[str], bool]
    ending: str = ""
    root_names: tuple[str, ...] = ()


class _Folder(Struct):
    """One listed folder: its files by index path, its folders with their inodes, and what can't be indexed."""

    inode: int
    files: dict[str, SourceFile] = field(default_factory=dict)
    below: dict[str, int] = field(default_factory=dict)
    skipped: list[SkippedFile] = field(default_factory=list)
    partial: list[SkippedFile] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not (self.files or self.below or self.skipped)


class Tree:
    """Lists a tree of files. The caller needs its own lock.

    Args:
        source: Name of the source.
        location: The tree's root; may be missing.
        rules: Which files count.
        prefix: What the index paths of its files begin with, before their path below the root.
        opened_from: The folder from which files are opened; by default the root, which may then be a link.
        max_bytes: Larger files are indexed only up to here.
        is_conversation: Whether the files are conversations.

    Attributes:
        files: The files by index path; the same object as before while nothing changed.
        is_missing: Whether the root doesn't exist.
    """

    def __init__(
        self,
        source: str,
        location: str,
        rules: TreeRules,
        *,
        prefix: str = "",
        opened_from: str = "",
        max_bytes: int = sys.maxsize,
        is_conversation: bool = False,
    ) -> None:
        self.location = location
        self.files: dict[str, SourceFile] = {}
        self.is_missing = False
        self._source = source
        self._prefix = prefix
        self._rules = rules
        self._root = opened_from or location
        self._start = location if location.endswith("/") else f"{location}/"
        self._max_bytes = max_bytes
        self._is_conversation = is_conversation
        self._root_names = frozenset(name.casefold() for name in rules.root_names) or None
        self._folders: dict[str, _Folder] = {}
        self._watch = UNWATCHED

    def __repr__(self) -> str:
        return f"<Tree {self.location}: {len(self.files)} files>"

    def includes(self, folder: str) -> bool:
        """Return whether a folder was listed, by its location."""
        return self._path(folder) in self._folders

    def is_relevant(self, folder: str, name: str, is_folder: bool) -> bool:
        """Return whether a name in a listed folder counts; see `Relevance`."""
        above = self._path(folder)
        path = above + name
        return above != ".." and (self._rules.is_wanted(path) or (is_folder and self._rules.is_walked(path)))

    def update(self, watch: Unwatched, scan: Scan) -> None:
        """List folders with events again, those that are new in them, and all folders if any may have changed.

        An old scan is repeated, except for empty folders: nothing appears in a folder without an event.
        """
        self._watch = watch
        if scan.changed is None or scan.is_old or not self._folders:
            self._list_all(scan)
            return
        paths = [path for each in scan.changed if (path := self._path(each)) in self._folders]
        if paths:
            files = self.files.copy()
            for path in sorted(paths):
                if path in self._folders:  # else a folder above it is gone
                    self._list_again(path, files)
            self._publish(files)

    def describe(self, listing: Listing) -> None:
        """Add what can't be indexed to a listing."""
        for folder in self._folders.values():
            listing.skipped += folder.skipped
            listing.partial += folder.partial

    def _publish(self, files: dict[str, SourceFile]) -> None:
        if files != self.files:
            self.files = files

    def _path(self, location: str) -> str:
        """Return a folder's path below the root, with a slash at its end; empty for the root, `..` for others."""
        if location == self.location:
            return ""
        return f"{location[len(self._start) :]}/" if location.startswith(self._start) else ".."

    def _list_all(self, scan: Scan) -> None:
        """List all folders."""
        before, self._folders = self._folders, {}
        empty: dict[str, _Folder] = {}
        if scan.changed is not None:
            empty = {path: each for path, each in before.items() if each.is_empty}
            for changed in scan.changed:
                empty.pop(self._path(changed), None)
        with self._opened("") as walk:
            root = self._list(walk, "", "", 0)
            if root is not None:
                self._folders[""] = root
                self._descend(walk, "", root.below, empty)
        for gone in before.keys() - self._folders.keys():
            self._watch.leave(self._start + gone[:-1])
        self._publish({path: file for each in self._folders.values() for path, file in each.files.items()})

    def _list_again(self, path: str, files: dict[str, SourceFile]) -> None:
        """List one known folder, and all folders that are new in it."""
        before = self._folders.pop(path)
        for gone in before.files:
            files.pop(gone, None)
        with self._opened(path) as walk:
            folder = self._list(walk, path, "", 0)
            after = folder.below if folder is not None else {}
            for name, inode in before.below.items():
                if after.get(name) != inode:
                    self._forget(f"{path}{name}/", files)
            if folder is not None:
                self._folders[path] = folder
                files.update(folder.files)
                new = {
                    name: inode
                    for name, inode in after.items()
                    if not self._is_listed(f"{path}{name}/", inode)
                }
                for listed in self._descend(walk, path, new, {}):
                    files.update(listed.files)

    def _is_listed(self, path: str, inode: int) -> bool:
        """Return whether a folder was listed, and not another one in its place."""
        folder = self._folders.get(path)
        return folder is not None and folder.inode == inode

    def _forget(self, path: str, files: dict[str, SourceFile]) -> None:
        """Forget a folder that is gone, and all below it."""
        pending = [path]
        while pending:
            here = pending.pop()
            folder = self._folders.pop(here, None)
            if folder is not None:
                self._watch.leave(self._start + here[:-1])
                for gone in folder.files:
                    files.pop(gone, None)
                pending += [f"{here}{name}/" for name in folder.below]

    def _opened(self, path: str) -> contextlib.closing[FolderWalk]:
        """Return a walk that begins at a folder."""
        return contextlib.closing(FolderWalk(self._root, self._start + path[:-1] if path else self.location))

    def _descend(
        self, walk: FolderWalk, path: str, below: dict[str, int], empty: dict[str, _Folder]
    ) -> list[_Folder]:
        """List folders below the folder at which a walk began, and all below them, except empty ones that are known."""
        listed: list[_Folder] = []
        pending = [(f"{path}{name}/", name, 1, inode) for name, inode in below.items()]
        while pending:
            here, name, depth, inode = pending.pop()
            folder = empty.get(here)
            if folder is None or folder.inode != inode:
                folder = self._list(walk, here, name, depth)
            if folder is not None:
                self._folders[here] = folder
                listed.append(folder)
                pending += [
                    (f"{here}{each}/", each, depth + 1, number) for each, number in folder.below.items()
                ]
        return listed

    def _list(self, walk: FolderWalk, path: str, name: str, depth: int) -> _Folder | None:
        """Return a folder's entries, or None if it is gone."""
        location = self._start + path[:-1] if path else self.location
        if not path:
            self.is_missing = False
            self._watch.enter(location, self._root_names, is_root=True)
        try:
            opened = walk.enter(depth, name)
            folder = _Folder(opened.identity[1])
            if path or self._root_names is None:
                self._watch.enter(location, opened=opened)
            with os.scandir(opened.descriptor) as entries:
                if not path and self._rules.root_names:
                    self._take_root(folder, entries)
                else:
                    self._take_all(folder, path, entries)
        except (FileNotFoundError, NotADirectoryError):
            self.is_missing = self.is_missing or not path
            return None
        except SymlinkInPathError:  # it was replaced by a link
            folder = _Folder(0)
            folder.skipped.append(SkippedFile(shown(self._prefix + path).rstrip("/"), LINK))
        except OSError as error:
            check_descriptors(error)
            self._watch.give_up()
            folder = _Folder(0)
            folder.skipped.append(
                SkippedFile(shown(self._prefix + path) or ".", f"folder can't be listed: {error.strerror}")
            )
        return folder

    def _take_all(self, folder: _Folder, path: str, entries: Iterable[os.DirEntry[str]]) -> None:
        """Add the entries of a folder."""
        files, known, source, root, is_conversation = (
            folder.files,
            self.files,
            self._source,
            self._root,
            self._is_conversation,
        )
        start, before, ending, max_bytes = (
            self._start + path,
            self._prefix + path,
            self._rules.ending,
            self._max_bytes,
        )
        is_plain = bool(ending) and before.isascii()
        for entry in entries:
            name = entry.name
            if is_plain and name[-3:] == ending and name.isascii() and entry.is_file(follow_symlinks=False):
                # The usual case, with as few calls as possible: it dominates the cost of every scan.
                try:
                    facts = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue  # deleted since it was listed
                if facts.st_size <= max_bytes and facts.st_nlink == 1:
                    index_path = before + name
                    state = (facts.st_mtime_ns, facts.st_size, facts.st_ino, facts.st_ctime_ns)
                    file = known.get(index_path)
                    if file is None or file[2:6] != state:
                        file = SourceFile(index_path, start + name, *state, source, root, is_conversation)
                    files[index_path] = file
                    continue
            self._take(folder, path, entry)

    def _take_root(self, folder: _Folder, entries: Iterator[os.DirEntry[str]]) -> None:
        """Add the entries of the root that have names that count."""
        named = {entry.name: entry for entry in entries if entry.name in self._rules.root_names}
        inodes: set[int] = set()
        for name in self._rules.root_names:
            if name in named and named[name].inode() not in inodes:
                inodes.add(named[name].inode())
                if self._rules.is_walked(name) and named[name].is_file(follow_symlinks=False):
                    folder.skipped.append(SkippedFile(self._prefix + name, "not a folder"))
                else:
                    self._take(folder, "", named[name])

    def _take(self, folder: _Folder, path: str, entry: os.DirEntry[str]) -> None:
        """Add one entry that is not a plain note: a folder, a link, or another file."""
        path += entry.name
        index_path = self._prefix + path
        try:
            is_walked = self._rules.is_walked(path)
            if is_walked and entry.is_dir(follow_symlinks=False):
                folder.below[entry.name] = entry.inode()
                return
            is_wanted = self._rules.is_wanted(path)
            if entry.is_symlink():
                if is_wanted or (is_walked and _leads_to_folder(entry)):
                    folder.skipped.append(SkippedFile(shown(index_path), LINK))
                return
            if not is_wanted:
                return
            facts = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return
        except OSError as error:
            folder.skipped.append(SkippedFile(shown(index_path), f"can't be read: {error.strerror}"))
            return
        file = SourceFile(
            index_path, self._start + path, *stat_of(facts), self._source, self._root, self._is_conversation
        )
        if (reason := why_skipped(file, facts)) is not None:
            folder.skipped.append(SkippedFile(shown(index_path), reason))
            return
        if facts.st_size > self._max_bytes:
            folder.partial.append(SkippedFile(index_path, describe_part(facts.st_size, self._max_bytes)))
        if facts.st_nlink > 1:
            self._watch.watch_file(file.location, facts)
        known = self.files.get(index_path)
        folder.files[index_path] = known if known == file else file


def why_skipped(file: SourceFile, facts: os.stat_result) -> str | None:
    """Return why a file can't be indexed, judged by its type and name; None if it can."""
    if not stat.S_ISREG(facts.st_mode):
        return LINK if stat.S_ISLNK(facts.st_mode) else "not a regular file"
    return None if shown(file.path) == file.path else "its name is not UTF-8; rename it"


def describe_part(size: int, limit: int) -> str:
    """Return the message for a file larger than the limit, which is indexed only in part."""
    part = f"indexed up to {units.size(limit)} of {units.size(size)}"
    return f"{part}; split the file, or raise `max_file_mb` in memd.toml"


def check_descriptors(error: OSError) -> None:
    """Raise if an error means that the process has no file descriptors left."""
    if error.errno in NO_DESCRIPTOR:
        raise FileUnreadableError(
            f"the files can't be scanned: {error.strerror}",
            hint="raise the daemon's limit of open files (`LimitNOFILE=` of the service, or `ulimit -n`)",
            data={"reason": "descriptors"},
        ) from None


def _leads_to_folder(link: os.DirEntry[str]) -> bool:
    """Return whether a link leads to a folder; True if that can't be determined."""
    try:
        return link.is_dir()
    except OSError:
        return True
