"""The way down to a file by descriptors: no name on it may be a link, and none is resolved twice.

A path is a promise that its names mean now what they meant a moment ago. Here every name is opened below the
descriptor of the one before, so a folder that is exchanged for a link meanwhile leads nowhere.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

FILE_MODE, FOLDER_MODE = 0o600, 0o700
"""Of what is made below a root."""

_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_PASSED = getattr(os, "O_PATH", os.O_RDONLY) | _FOLDER
"""How a folder on the way is opened. With `O_PATH` (Linux) one that may be entered but not listed will do."""

_LISTED = os.O_RDONLY | _FOLDER

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""How a file is opened. `O_NONBLOCK`: a FIFO that took its place must not hang the reader."""


class LinkOnTheWayError(OSError):
    """A name below the root is a symbolic link."""


class NoWayDownError(OSError):
    """A place doesn't lie below its root."""


def open_file(root: str, location: str) -> int:
    """Return a descriptor of what is at a place below a root, whatever it is; the caller closes it."""
    *folders, name = _names_below(root, location)
    folder = open_folder(root, folders, _PASSED)
    try:
        return open_below(folder, name, _READ)
    finally:
        os.close(folder)


def open_unlinked(location: str | os.PathLike[str]) -> int:
    """Return a descriptor of what is at a place, unless that is a link; the caller closes it.

    For files right in a folder that is itself the root, as transcripts are.
    """
    return os.open(location, _READ)


@contextlib.contextmanager
def open_listing(root: str, location: str) -> Iterator[Iterator[os.DirEntry[str]]]:
    """Give the entries of a folder below a root, or of the root itself.

    An entry's `path` is its name alone, and its `stat` is to be asked within the block.
    """
    names = _names_below(root, location) if location != root else []
    handle = open_folder(root, names, _LISTED)
    try:
        with os.scandir(handle) as entries:
            yield entries
    finally:
        os.close(handle)


Identity: TypeAlias = tuple[int, int]
"""Device and inode."""


class OpenFolder(NamedTuple):
    """A folder by its descriptor."""

    descriptor: int
    identity: Identity


class FolderWalk:
    """Opens the folders of a tree one after the other, the way `pending.pop()` gives them: depth first.

    One descriptor is open at a time. The way from folder to folder is the way in the tree, up by `..` and down by
    names, so a folder costs as much at any depth. A folder that `..` leads to has to be the one the walk came down
    through; else the way is gone again from the root.

    Resources: a descriptor, until `close`.
    """

    def __init__(self, root: str, location: str) -> None:
        self._root = root
        self._names = _names_below(root, location) if location != root else []
        self._top = len(self._names)
        self._ways: list[Identity] = []
        self._here = -1

    def enter(self, depth: int, name: str) -> OpenFolder:
        """Return a folder, open to be listed until the next call."""
        if depth == 0:
            self._move(open_folder(self._root, self._names, _LISTED), [])
        else:
            self._go_up(depth - 1)
            there = open_below(self._here, name, _LISTED)
            self._names[self._top + depth - 1 :] = [name]
            self._move(there, self._ways)
        return OpenFolder(self._here, self._ways[-1])

    def close(self) -> None:
        """Give the descriptor back."""
        if self._here >= 0:
            os.close(self._here)
            self._here = -1

    def _move(self, there: int, ways: list[Identity]) -> None:
        """Be in another folder, which lies below those of `ways`."""
        self.close()
        self._here, self._ways = there, ways
        facts = os.fstat(there)
        ways.append((facts.st_dev, facts.st_ino))

    def _go_up(self, depth: int) -> None:
        """Be in the folder of a depth that the walk came down through."""
        while len(self._ways) - 1 > depth:
            there = os.open("..", _PASSED, dir_fd=self._here)
            facts = os.fstat(there)
            if (facts.st_dev, facts.st_ino) != self._ways[-2]:
                os.close(there)
                break
            os.close(self._here)
            self._here = there
            self._ways.pop()
        if len(self._ways) - 1 > depth:
            self._come_down(depth)

    def _come_down(self, depth: int) -> None:
        """Be in a folder by its names from the root: it, or what is on the way to it, was moved meanwhile."""
        there = open_folder(self._root, self._names[: self._top + depth], _PASSED)
        ways = self._ways[:depth]
        self._move(there, ways)


def _names_below(root: str, location: str) -> list[str]:
    """Return the names that lead from a root to a place below it."""
    start = root.rstrip("/") + "/"
    names = location[len(start) :].split("/")
    if not root or not location.startswith(start) or any(name in ("", ".", "..") for name in names):
        raise NoWayDownError(errno.EINVAL, "it is not below its root")
    return names


def open_folder(root: str, names: Sequence[str], last: int = _LISTED, *, make: bool = False) -> int:
    """Return a descriptor of a folder some names below a root, or of the root itself; the caller closes it."""
    here = os.open(root, (_PASSED if names else last) & ~os.O_NOFOLLOW)
    try:
        for number, name in enumerate(names, 1):
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, FOLDER_MODE, dir_fd=here)
            there = open_below(here, name, last if number == len(names) else _PASSED)
            os.close(here)
            here = there
    except BaseException:
        os.close(here)
        raise
    return here


def open_below(folder: int, name: str, flags: int) -> int:
    """Return a descriptor of one name in an open folder; the caller closes it."""
    try:
        return os.open(name, flags, FILE_MODE, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP or _is_link(folder, name):
            raise LinkOnTheWayError(errno.ELOOP, "it is a symbolic link, or lies behind one") from None
        raise


def _is_link(folder: int, name: str) -> bool:
    """Return whether a name in an open folder is a link right now."""
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False
