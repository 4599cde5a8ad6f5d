"""Opens files below a root without following symbolic links.

Each name of a path is opened relative to the descriptor of its parent, so a folder that is replaced by a link in the
meantime is not followed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

FILE_MODE, FOLDER_MODE = 0o600, 0o700
"""Modes of files and folders that are created below a root."""

_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_PASSED = getattr(os, "O_PATH", os.O_RDONLY) | _FOLDER
"""Flags for the folders on a path. `O_PATH` (Linux) needs no permission to list them."""

_LISTED = os.O_RDONLY | _FOLDER

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""Flags for a file. `O_NONBLOCK`: a FIFO at the path must not block the reader."""

NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE)
"""Errors of the process or system, not of the folder or file that was opened."""

FileStat: TypeAlias = tuple[int, int, int, int]
"""`mtime_ns`, `size`, `inode` and `ctime_ns` of a file."""


def stat_of(facts: os.stat_result) -> FileStat:
    """Return the part of a file's stat that changes with the file."""
    return facts.st_mtime_ns, facts.st_size, facts.st_ino, facts.st_ctime_ns


class SymlinkInPathError(OSError):
    """A name in the path is a symbolic link."""


class OutsideRootError(OSError):
    """A location is not below its root."""


def open_file(root: str, location: str) -> int:
    """Return a descriptor of a location below a root, of any file type; the caller closes it."""
    *folders, name = _names_below(root, location)
    folder = open_folder(root, folders, _PASSED)
    try:
        return open_below(folder, name, _READ)
    finally:
        os.close(folder)


def open_unlinked(location: str | os.PathLike[str]) -> int:
    """Return a descriptor of a location, unless that is a link; the caller closes it.

    For files directly in their root, such as transcripts.
    """
    return os.open(location, _READ)


@contextlib.contextmanager
def open_listing(root: str, location: str) -> Iterator[Iterator[os.DirEntry[str]]]:
    """Yield the entries of a folder below a root, or of the root itself.

    An entry's `path` is only its name, and its `stat` works only inside the block.
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
    """Opens the folders of a tree one after the other, depth first.

    One descriptor is open at a time. The walk goes up by `..` and down by names, so the cost of a folder is independent
    of its depth. If `..` leads to another folder than the one the walk descended through, it restarts from the root.

    Resources: a descriptor, until `close`.
    """

    def __init__(self, root: str, location: str) -> None:
        self._root = root
        self._names = _names_below(root, location) if location != root else []
        self._top = len(self._names)
        self._identities: list[Identity] = []
        self._here = -1

    def enter(self, depth: int, name: str) -> OpenFolder:
        """Return a folder at a depth, open for listing until the next call."""
        if depth == 0:
            self._move(open_folder(self._root, self._names, _LISTED), [])
        else:
            self._go_up(depth - 1)
            there = open_below(self._here, name, _LISTED)
            self._names[self._top + depth - 1 :] = [name]
            self._move(there, self._identities)
        return OpenFolder(self._here, self._identities[-1])

    def close(self) -> None:
        """Close the descriptor."""
        if self._here >= 0:
            os.close(self._here)
            self._here = -1

    def _move(self, there: int, above: list[Identity]) -> None:
        """Make an open folder the current one; `above` are the folders above it."""
        self.close()
        self._here, self._identities = there, above
        facts = os.fstat(there)
        above.append((facts.st_dev, facts.st_ino))

    def _go_up(self, depth: int) -> None:
        """Go up to the folder at a depth that the walk descended through."""
        while len(self._identities) - 1 > depth:
            there = os.open("..", _PASSED, dir_fd=self._here)
            facts = os.fstat(there)
            if (facts.st_dev, facts.st_ino) != self._identities[-2]:
                os.close(there)
                break
            os.close(self._here)
            self._here = there
            self._identities.pop()
        if len(self._identities) - 1 > depth:
            self._descend_again(depth)

    def _descend_again(self, depth: int) -> None:
        """Open the folder at a depth from the root, because it or a folder above it was moved."""
        there = open_folder(self._root, self._names[: self._top + depth], _PASSED)
        self._move(there, self._identities[:depth])


def _names_below(root: str, location: str) -> list[str]:
    """Return the names from a root to a location below it."""
    start = root.rstrip("/") + "/"
    names = location[len(start) :].split("/")
    if not root or not location.startswith(start) or any(name in ("", ".", "..") for name in names):
        raise OutsideRootError(errno.EINVAL, "it is not below its root")
    return names


def open_folder(root: str, names: Sequence[str], last: int = _LISTED, *, make: bool = False) -> int:
    """Return a descriptor of a folder below a root, or of the root itself; the caller closes it."""
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
            raise SymlinkInPathError(errno.ELOOP, "it is a symbolic link, or is behind one") from None
        raise


def _is_link(folder: int, name: str) -> bool:
    """Return whether a name in an open folder is a link."""
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False
