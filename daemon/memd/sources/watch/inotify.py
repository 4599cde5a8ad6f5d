"""File events from Linux's inotify: one kernel queue for all agents, read without blocking in the calling thread.

The kernel queues an event before the system call that caused it returns. So an empty queue proves that nothing has
changed, which a library that delivers events from its own thread can't.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import trio

from memd.sources.watch.filesystems import MOUNT_TABLE, Mounts, load_mounts
from memd.sources.watch.queue import NOWHERE, FolderEvents, Interest, Key, WatchQueue, WatchResult
from memd.system.log import log
from memd.system.safe_open import NO_DESCRIPTOR, Identity, OpenFolder

STEP_S = 0.25
"""Minimum time between two reads for hints, so that a burst of events causes few of them."""

RETRY_S = 60.0
"""Time between two attempts to open the queue if a system limit prevents it."""

_BLIND_S = 1.0
"""Pause after the open queue could not be read."""

WATCH_DESCRIPTORS = 2
"""Descriptors of `InotifyEvents`: the inotify instance and the mount table."""

INOTIFY_LIMITS = Path("/proc/sys/fs/inotify")

_EVENT: Final = struct.Struct("iIII")

_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF = 0x400, 0x800
_ONLY_FOLDERS, _NO_LINK = 0x0100_0000, 0x0200_0000

_WANTED: Final = (
    _MODIFY
    | _ATTRIB
    | _CLOSE_WRITE  # follows writes to a mapping, which raise no event themselves
    | _MOVED_FROM
    | _MOVED_TO
    | _CREATE
    | _DELETE
    | _DELETE_SELF
    | _MOVE_SELF
    | _ONLY_FOLDERS
)

IGNORED: Final = 0x8000
"""Bit of a folder's last event."""

OVERFLOW: Final = 0x4000
"""Bit of an event that replaces any number of lost events of any folders."""

IS_FOLDER: Final = 0x4000_0000
"""Bit of an event whose name is a folder's."""

_READ_BYTES: Final = 65_536


class InotifyEvent(NamedTuple):
    """One event: the number of the watched folder, its bits, and the name in the folder, empty for itself."""

    number: int
    bits: int
    name: str


class Inotify:
    """One inotify instance.

    Resources: one descriptor, until `close`.
    """

    def __init__(self) -> None:
        if sys.platform != "linux":
            raise OSError(errno.ENOSYS, "this system has no inotify")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.descriptor = self._checked(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))

    def add(self, folder: str, *, follow: bool = False) -> int:
        """Watch a folder; return its number, which is the same while it is watched."""
        wanted = _WANTED if follow else _WANTED | _NO_LINK
        return self._checked(self._libc.inotify_add_watch(self.descriptor, os.fsencode(folder), wanted))

    def remove(self, number: int) -> None:
        """Stop watching a folder; an unknown number is ignored."""
        self._libc.inotify_rm_watch(self.descriptor, number)

    def read(self) -> Iterator[InotifyEvent]:
        """Yield the events since the last call; never blocks."""
        while True:
            try:
                data = os.read(self.descriptor, _READ_BYTES)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                number, bits, _, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size
                yield InotifyEvent(number, bits, os.fsdecode(data[at : at + length].rstrip(b"\0")))
                at += length

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self.descriptor)

    @staticmethod
    def _checked(result: int) -> int:
        """Return the result of a call, or raise its error."""
        if result < 0:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))
        return result


class InotifyEvents(FolderEvents):
    """Events of all agents' folders through one inotify instance.

    Resources: two descriptors from the first scan on, until `close`.
    """

    def __init__(
        self,
        threads: trio.CapacityLimiter,
        *,
        table: Path = MOUNT_TABLE,
        step_s: float = STEP_S,
        retry_s: float = RETRY_S,
    ) -> None:
        super().__init__()
        self._threads = threads
        self._table = table
        self._step_s = step_s
        self._retry_s = retry_s
        self._is_closed = False
        self._inotify: Inotify | None = None
        self._mounts_descriptor = -1
        self._mounts_changed = select.poll()
        self._mounts = Mounts()
        self._is_remounted = False
        self._numbers: dict[Identity, int] = {}
        self._logged_reasons: set[str] = set()

    def __repr__(self) -> str:
        return f"<InotifyEvents of {len(self.folders)} folders{', off' if self._inotify is None else ''}>"

    def read(self) -> bool:
        """Report all events so far; return whether inotify works."""
        with self.lock:
            if self._inotify is None and not self._open():
                return False
            assert self._inotify is not None
            try:
                self._is_remounted = bool(self._mounts_changed.poll(0)) or self._is_remounted
                if self._is_remounted:
                    self._report_all()
                    self._mounts = load_mounts(self._table)
                    self._is_remounted = False
                for event in self._inotify.read():
                    self._take(event)
            except OSError:  # for example a lowered limit of open files, with which poll fails
                self._report_all()
                return False
            return True

    def add(
        self, queue: WatchQueue, interest: Interest, *, follow: bool, opened: OpenFolder | None = None
    ) -> WatchResult:
        """Watch a folder.

        With `opened`, its depth and the length of its path don't matter.
        """
        with self.lock:
            if self._inotify is None:
                return WatchResult(None)
            reason = self._mounts.why_foreign(interest.path)
            if reason:
                return WatchResult(None, reason)
            try:
                device = _device_of(interest.path, follow=follow) if opened is None else opened.identity[0]
                reason = self._mounts.why_foreign(interest.path, device)
                if reason:
                    return WatchResult(None, reason)
                if opened is None:
                    number = self._inotify.add(interest.path, follow=follow)
                else:
                    number = self._add_open(self._inotify, opened)
            except (FileNotFoundError, NotADirectoryError):
                return WatchResult(NOWHERE)
            except OSError as error:
                self._log_once(error)
                return WatchResult(None, explain_limit(error))
            self.folders.setdefault(number, {}).setdefault(queue, set()).add(interest)
            return WatchResult(number)

    async def run(self, on_change: Callable[[], None]) -> None:
        """Report events as they arrive, until cancelled."""
        known = ""
        while True:
            is_read = await self._in_thread(self.read)
            if self.down != known:
                known = self.down
                on_change()
            if self._inotify is None:
                await trio.sleep(self._retry_s)
                await self._in_thread(self._open_again)
            elif is_read:
                await trio.lowlevel.wait_readable(self._inotify.descriptor)
                await trio.sleep(self._step_s)
            else:
                await trio.sleep(_BLIND_S)

    async def _in_thread(self, call: Callable[[], bool]) -> bool:
        """Run a call that may block on a disk in a worker thread."""
        return await trio.to_thread.run_sync(call, limiter=self._threads, abandon_on_cancel=True)

    def close(self) -> None:
        """Close the descriptors."""
        with self.lock:
            self._is_closed = True
            self._report_all()
            if self._inotify is not None:
                self._inotify.close()
                os.close(self._mounts_descriptor)
                self._inotify = None

    def _open_again(self) -> bool:
        """Retry opening the queue after a failure."""
        with self.lock:
            return not self._is_closed and self._try_open()

    def _open(self) -> bool:
        """Open the queue unless that failed before; return whether it is open. Call with the lock held."""
        return not self._is_closed and not self.down and self._try_open()

    def _try_open(self) -> bool:
        """Open the queue; return whether it is open. Call with the lock held."""
        try:
            inotify = Inotify()
            try:
                self._mounts = load_mounts(self._table)
                self._mounts_descriptor = os.open(self._table, os.O_RDONLY | os.O_CLOEXEC)
                self._mounts_changed.register(self._mounts_descriptor, select.POLLPRI | select.POLLERR)
            except OSError:
                inotify.close()
                raise
        except OSError as error:
            self.down = explain_limit(error) or f"inotify failed: {error.strerror}"
            self._log_once(error)
            return False
        self._inotify, self.down = inotify, ""
        return True

    def _add_open(self, inotify: Inotify, opened: OpenFolder) -> int:
        """Watch an open folder unless it is watched; return its number. Call with the lock held.

        If a watched folder was removed and its inode reused, an event of that is in the queue, so the scan isn't
        certain.
        """
        number = self._numbers.get(opened.identity, NOWHERE)
        if number not in self.folders:
            number = inotify.add(f"/proc/self/fd/{opened.descriptor}", follow=True)
            self._numbers[opened.identity] = number
            if len(self._numbers) > 2 * len(self.folders) + 1000:
                self._numbers = {key: each for key, each in self._numbers.items() if each in self.folders}
        return number

    def _drop(self, key: Key) -> None:
        """Stop watching a folder; call with the lock held."""
        if self._inotify is not None and isinstance(key, int):
            self._inotify.remove(key)

    def _take(self, event: InotifyEvent) -> None:
        """Report an event; call with the lock held."""
        if event.bits & OVERFLOW:
            self._report_all()
            return
        self._report(event.number, event.name, is_folder=bool(event.bits & IS_FOLDER))
        if event.bits & IGNORED:
            self.folders.pop(event.number, None)

    def _log_once(self, error: OSError) -> None:
        """Log each reason for which searches check all files once; call with the lock held."""
        reason = error.strerror or str(error)
        if reason not in self._logged_reasons:
            self._logged_reasons.add(reason)
            log.info("sync.inotify_unavailable", reason=reason)


def _device_of(path: str, *, follow: bool) -> int:
    """Return the device a path is on."""
    return os.stat(path, follow_symlinks=follow).st_dev


def explain_limit(error: OSError) -> str:
    """Return the exhausted system limit that an error means and how to raise it; else an empty text."""
    if error.errno == errno.ENOSPC:
        return (
            "the system's limit of watched folders is reached"
            f"{_limit('max_user_watches')}; raise it, e.g. `sysctl fs.inotify.max_user_watches=524288`"
        )
    if error.errno == errno.EMFILE and _has_descriptors():
        return (
            "the user's limit of inotify instances is reached"
            f"{_limit('max_user_instances')}; raise it, e.g. `sysctl fs.inotify.max_user_instances=512`"
        )
    if error.errno == errno.EMFILE:
        return (
            f"the daemon has no file descriptors left (the limit is {os.sysconf('SC_OPEN_MAX')}); raise the limit: "
            "`LimitNOFILE=` of the service, or `ulimit -n`"
        )
    if error.errno == errno.ENFILE:
        return "the system has no file descriptors left; raise its limit, e.g. `sysctl fs.file-max=1000000`"
    return ""


def _has_descriptors() -> bool:
    """Return whether this process can open as many files as `InotifyEvents` needs."""
    opened: list[int] = []
    try:
        for _ in range(WATCH_DESCRIPTORS):
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno not in NO_DESCRIPTOR
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return True


def _limit(name: str) -> str:
    """Return a limit's name and value in parentheses, or an empty text if it can't be read."""
    try:
        return f" (fs.inotify.{name} is {(INOTIFY_LIMITS / name).read_text().strip()})"
    except OSError:
        return ""
