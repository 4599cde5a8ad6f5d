"""Whether what was seen on disk still stands, without looking at every file again.

A look asks the disk for the state of each file: some microseconds a file, in every search. Where the kernel notes the
changes to all folders of an agent (`inotify`), and noted none since the last look, that look still stands. It is
asked inside the search, so the answer is as fresh as another look: what was written before is in the queue.

Some changes raise no event. Those are looked at by their state, or nothing is taken for known:

- a folder above the agent's own may be renamed: its roots are looked at each time;
- a file with a second name may be written by that one: it is looked at each time;
- what others do on a server's file system, and what a new mount hides: there every search looks at all files;
- what is written into a mapping in memory, until it is closed, and by a second name that came later: nothing stands for
  longer than `STANDS_S`.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import structlog

from memd.sync.disk.filesystems import MOUNT_TABLE, load_mounts
from memd.sync.disk.inotify import IGNORED, OVERFLOW, Event, Inotify
from memd.sync.disk.safe_open import Identity, OpenFolder

log = structlog.get_logger(__name__)

STANDS_S: Final = 2.0
"""How long a look stands at most."""

MOST_LINKED: Final = 64
"""Files with a second name that are looked at one by one; where there are more, all files are looked at."""

NOWHERE: Final = 0
"""The number of a folder that isn't there; the kernel counts from one."""

Names = frozenset[str] | None
"""Names that matter in a folder, casefolded; None for all."""

State = tuple[int, ...]
"""What a stat says of a file or a root."""


class InotifyTracker:
    """What the kernel noted for all agents of a daemon: one queue, whoever asks.

    Resources: two descriptors from the first look on, until `close`.
    """

    def __init__(self, table: Path | None = MOUNT_TABLE) -> None:
        self._table = table
        self._lock = threading.Lock()
        self._queue: Inotify | None = None
        self._mounts = -1
        self._mounts_changed = select.poll()
        self._foreign: frozenset[int] = frozenset()
        self._folders: dict[int, dict[ChangeTracker, Names]] = {}
        self._numbers: dict[Identity, int] = {}
        self._is_remounted = False
        self._logged_reasons: set[str] = set()

    def __repr__(self) -> str:
        return f"<KernelNotes of {len(self._folders)} folders{', off' if self._table is None else ''}>"

    def read(self) -> bool:
        """Tell every journal what was noted about its folders; return whether anything is noted at all."""
        with self._lock:
            if self._table is None or (self._queue is None and not self._open(self._table)):
                return False
            assert self._queue is not None
            try:
                self._is_remounted = bool(self._mounts_changed.poll(0)) or self._is_remounted
                if self._is_remounted:
                    self._spoil_all()
                    self._foreign = frozenset(load_mounts(self._table).foreign_devices)
                    self._is_remounted = False
                for event in self._queue.read():
                    self._take(event)
            except OSError:  # such as a limit on open files below what is open: poll refuses to work
                self._spoil_all()
                return False
            return True

    def watch(
        self,
        journal: ChangeTracker,
        folder: str,
        names: Names,
        *,
        follow: bool,
        opened: OpenFolder | None = None,
    ) -> int | None:
        """Have a folder's changes told to a journal; return its number, or None where they can't be noted.

        By its descriptor a folder costs as much at any depth, and its path may be of any length.
        One that isn't there is `NOWHERE`: that it comes is noted in the folder above.
        """
        with self._lock:
            if self._queue is None:
                return None
            try:
                if opened is None:
                    number = self._queue.add(folder, follow=follow)
                    device = os.stat(folder, follow_symlinks=follow).st_dev
                else:
                    number, device = self._add_open(self._queue, opened), opened.identity[0]
            except (FileNotFoundError, NotADirectoryError):
                return None if follow else NOWHERE
            except OSError as error:
                self._tell(error)
                return None
            wanted = self._folders.setdefault(number, {})
            before = wanted.get(journal, names)
            wanted[journal] = None if names is None or before is None else names | before
            return None if device in self._foreign else number

    def _add_open(self, queue: Inotify, opened: OpenFolder) -> int:
        """Watch an open folder, unless it is watched already; return its number. The lock is held.

        A folder that was removed since, and its inode given to another one, has left an event in the queue, by which
        the look doesn't stand.
        """
        number = self._numbers.get(opened.identity, NOWHERE)
        if number not in self._folders:
            number = queue.add(f"/proc/self/fd/{opened.descriptor}", follow=True)
            self._numbers[opened.identity] = number
            if len(self._numbers) > 2 * len(self._folders) + 1000:
                self._numbers = {key: each for key, each in self._numbers.items() if each in self._folders}
        return number

    def forget(self, journal: ChangeTracker, numbers: set[int]) -> None:
        """Tell a journal of some folders no more; those nobody wants are watched no more."""
        with self._lock:
            for number in numbers:
                wanted = self._folders.get(number, {})
                wanted.pop(journal, None)
                if not wanted and self._folders.pop(number, None) is not None and self._queue is not None:
                    self._queue.remove(number)

    def close(self) -> None:
        """Give the descriptors back; nothing is noted from now on."""
        with self._lock:
            self._table = None
            self._spoil_all()
            if self._queue is not None:
                self._queue.close()
                os.close(self._mounts)
                self._queue = None

    def _open(self, table: Path) -> bool:
        """Open the queue; return whether there is one. It is tried once: a limit that is in the way stays there."""
        try:
            queue = Inotify()
            try:
                self._foreign = frozenset(load_mounts(table).foreign_devices)
                self._mounts = os.open(table, os.O_RDONLY | os.O_CLOEXEC)
                self._mounts_changed.register(self._mounts, select.POLLPRI | select.POLLERR)
            except OSError:
                queue.close()
                raise
        except OSError as error:
            self._table = None
            self._tell(error)
            return False
        self._queue = queue
        return True

    def _tell(self, error: OSError) -> None:
        """Say once why searches look at all files; the lock is held."""
        reason = error.strerror or str(error)
        if reason not in self._logged_reasons:
            self._logged_reasons.add(reason)
            log.info("sync.kernel_notes_missing", reason=reason)

    def _take(self, event: Event) -> None:
        """Tell whom an event concerns; the lock is held."""
        if event.what & OVERFLOW:
            self._spoil_all()
            return
        wanted = self._folders.get(event.number, {})
        for journal, names in wanted.items():
            if names is None or not event.name or event.name.casefold() in names:
                journal.spoil()
        if event.what & IGNORED:
            self._folders.pop(event.number, None)

    def _spoil_all(self) -> None:
        """Tell every journal that anything may have changed; the lock is held."""
        for wanted in self._folders.values():
            for journal in wanted:
                journal.spoil()


class ChangeTracker:
    """What is known of one agent's folders since they were looked at.

    A look begins with `begin`, names each folder before it lists it (`enter`), and ends with `end`. One at a time:
    whoever looks holds a lock of its own.
    """

    def __init__(self, notes: InotifyTracker, now: Callable[[], float] = time.monotonic) -> None:
        self._notes = notes
        self._now = now
        self._stands = False
        self._is_whole = False
        self._since = 0.0
        self._numbers: set[int] = set()
        self._entered: set[int] = set()
        self._states: list[tuple[str, bool, State]] = []

    def __repr__(self) -> str:
        return f"<Journal of {len(self._numbers)} folders, {'stands' if self._stands else 'spoilt'}>"

    def stands(self) -> bool:
        """Return whether all is as the last look saw it (blocking, but for some microseconds)."""
        if not self._stands or self._now() - self._since > STANDS_S:
            return False
        self._notes.read()  # spoils this one where anything was noted
        # Asked after the queue, and again whatever it said: another thread may have emptied it.
        return self._stands and all(
            _state_of(path, is_root) == state for path, is_root, state in self._states
        )

    def spoil(self) -> None:
        """Note that something may have changed."""
        self._stands = False

    def begin(self) -> None:
        """Begin a look."""
        self._is_whole = self._notes.read()
        self._since = self._now()
        self._entered, self._states = set(), []
        self._stands = self._is_whole

    def enter(
        self, folder: str, names: Names = None, *, is_root: bool = False, opened: OpenFolder | None = None
    ) -> None:
        """Note that a folder is about to be listed."""
        if not self._is_whole:
            return
        number = self._notes.watch(self, folder, names, follow=is_root, opened=opened)
        if number is None:
            self.give_up()
            return
        self._entered.add(number)
        if is_root:
            self._states.append((folder, True, _state_of(folder, True)))

    def give_up(self) -> None:
        """Note that a look can't stand: something isn't watched."""
        self._is_whole = self._stands = False

    def watch_file(self, path: str, facts: os.stat_result | None) -> None:
        """Note a file that may change without an event."""
        if self._is_whole:
            self._states.append((path, False, () if facts is None else _file_state(facts)))
            if len(self._states) > MOST_LINKED:
                self.give_up()

    def end(self) -> None:
        """End a look; folders it didn't enter are watched no more."""
        gone, self._numbers = self._numbers - self._entered, self._entered
        self._notes.forget(self, gone)

    def close(self) -> None:
        """Watch no folder any more."""
        self.give_up()
        self._entered = set()
        self.end()


def _state_of(path: str, is_root: bool) -> State:
    """Return what something is now: which folder, for a root, or a file's state; nothing where it isn't there."""
    with suppress(OSError):
        facts = os.stat(path, follow_symlinks=is_root)
        return (facts.st_dev, facts.st_ino) if is_root else _file_state(facts)
    return ()


def _file_state(facts: os.stat_result) -> State:
    """Return what of a file's stat moves with every change."""
    return facts.st_mode, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns
