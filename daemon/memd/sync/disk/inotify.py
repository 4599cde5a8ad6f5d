"""Linux's inotify as one call that never waits: what changed in some folders since it was asked last.

The kernel puts an event into the queue before the system call that changed something returns. So a queue that is empty
says that nothing was changed until now, which no library that hands events over from a thread of its own can say.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterator
from typing import Final, NamedTuple

_EVENT: Final = struct.Struct("iIII")

_NONBLOCK: Final = os.O_NONBLOCK
_CLOEXEC: Final = os.O_CLOEXEC

_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF = 0x400, 0x800
_ONLY_FOLDERS, _NO_LINK = 0x0100_0000, 0x0200_0000

_WANTED: Final = (
    _MODIFY
    | _ATTRIB
    | _CLOSE_WRITE  # comes after a mapping was written to, which raises nothing itself
    | _MOVED_FROM
    | _MOVED_TO
    | _CREATE
    | _DELETE
    | _DELETE_SELF
    | _MOVE_SELF
    | _ONLY_FOLDERS
)

IGNORED: Final = 0x8000
"""Bit of an event that is the last one of its folder."""

OVERFLOW: Final = 0x4000
"""Bit of an event that stands for any number of events of any folder."""

_READ_BYTES: Final = 65_536


class Event(NamedTuple):
    """Something that happened in a folder: the folder's number, what as bits, and the name in it, or nothing."""

    number: int
    what: int
    name: str


class Inotify:
    """One queue of the kernel's.

    Resources: one descriptor, until `close`.
    """

    def __init__(self) -> None:
        if sys.platform != "linux":
            raise OSError("file events that can be asked for at once are Linux's alone")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._queue = self._checked(self._libc.inotify_init1(_NONBLOCK | _CLOEXEC))

    def add(self, folder: str, *, follow: bool = False) -> int:
        """Have a folder's changes noted from now on; return its number, the same one while it is noted."""
        wanted = _WANTED if follow else _WANTED | _NO_LINK
        return self._checked(self._libc.inotify_add_watch(self._queue, os.fsencode(folder), wanted))

    def remove(self, number: int) -> None:
        """Have a folder's changes noted no more; one that is gone is passed over."""
        self._libc.inotify_rm_watch(self._queue, number)

    def read(self) -> Iterator[Event]:
        """Yield what happened since the last call; never waits."""
        while True:
            try:
                data = os.read(self._queue, _READ_BYTES)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                number, what, _, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size
                yield Event(number, what, os.fsdecode(data[at : at + length].rstrip(b"\0")))
                at += length

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self._queue)

    @staticmethod
    def _checked(result: int) -> int:
        """Return what a call gave."""
        if result < 0:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))
        return result
