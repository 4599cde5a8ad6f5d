"""One watch queue per source: whether its folders changed since they were listed, and hints for the agent's sync.

A scan reads the stat of each file, in every search. Each scan passes on the folders it lists, which are watched from
then on (`FolderEvents`). If inotify reports no event since the last scan, that scan is still valid; if it reports
some, only the folders with events are listed again. The queue is read inside the search: the kernel queues an event
before the system call that caused it returns, so everything written before the search is noticed.

Some changes raise no event:

- a folder above a root is renamed: the state of the roots is checked each time;
- a file is written through another hard link: the state of files with several links is checked each time;
- another machine writes to a server's file system, or a new mount hides files: every search lists all folders;
- a memory mapping is written to before it is closed, or a hard link is created later: no scan is valid for longer than
  `valid_s`.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple, TypeAlias

import trio

from memd.system.log import log
from memd.system.safe_open import OpenFolder

NOTES_VALID_S: Final = 2.0
CONVERSATION_VALID_S: Final = 60.0
"""How long a scan of conversations is valid: programs only append to them or replace them."""

MAX_LINKED_FILES: Final = 64
"""Files with several hard links that are checked one by one; if there are more, every search lists all folders."""

Names = frozenset[str] | None
"""Relevant names in a folder, casefolded; None for all."""

Hint: TypeAlias = tuple[str, str]
"""An agent, and the name of its source that may have changed."""

Key: TypeAlias = int | str
"""A watched folder: inotify's number or, for watchfiles, its path."""

NOWHERE: Final = 0
"""The key of a missing folder; inotify's numbers start from one."""

State: TypeAlias = tuple[int, ...]
"""The relevant stat fields of a file or a root."""

Relevance: TypeAlias = Callable[[str, str, bool], bool]
"""(folder, name in it, whether it is a folder) -> whether an event of that name should cause a sync."""


class Interest(NamedTuple):
    """Why a folder is watched. `names`, casefolded, are the relevant ones; None: all names."""

    path: str
    names: Names = None

    def includes(self, name: str) -> bool:
        """Return whether an event of a name (empty: the folder itself) may change the result of a scan."""
        return not name or self.names is None or name.casefold() in self.names


class Hints:
    """Hints from any thread, queued for the event loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: set[Hint] = set()
        self._loop: trio.lowlevel.TrioToken | None = None
        self._more = trio.Event()

    def add(self, hints: Iterable[Hint] = ()) -> None:
        """Add hints; with none, only make `take` return."""
        new = set(hints)
        with self._lock:
            if new and new <= self._waiting:
                return
            self._waiting |= new
        if self._loop is not None:
            with suppress(trio.RunFinishedError):
                self._loop.run_sync_soon(self._wake, idempotent=True)

    async def take(self) -> set[Hint]:
        """Wait until hints were added since the last call, and return them."""
        if self._loop is None:
            self._loop = trio.lowlevel.current_trio_token()
        else:
            await self._more.wait()
        self._more = trio.Event()
        with self._lock:
            hints, self._waiting = self._waiting, set()
        return hints

    def _wake(self) -> None:
        """Make `take` return."""
        self._more.set()


class WatchResult(NamedTuple):
    """Result of watching a folder: its key, or None and the reason, empty if it has no general cause."""

    key: Key | None
    problem: str = ""


class FolderEvents:
    """The watched folders of all agents. The base class receives no events: every search lists all folders.

    Attributes:
        down: Why there are no events for any folder; empty if there are.
        folders: The queues and interests of each folder; guarded by `lock`.
    """

    def __init__(self, down: str = "") -> None:
        self.down = down
        self.lock = threading.Lock()
        self.folders: dict[Key, dict[WatchQueue, set[Interest]]] = {}

    def read(self) -> bool:
        """Report all events so far to the queues, without blocking; return whether that covers every change."""
        return False

    def add(
        self, queue: WatchQueue, interest: Interest, *, follow: bool, opened: OpenFolder | None = None
    ) -> WatchResult:
        """Start reporting a folder's events to a queue."""
        return WatchResult(None)

    def forget(self, queue: WatchQueue, interests: Mapping[Interest, Key]) -> None:
        """Stop reporting the events of some folders to a queue. A renamed folder has the same key by its new path."""
        with self.lock:
            for interest, key in interests.items():
                queues = self.folders.get(key, {})
                left = queues.get(queue, set())
                left.discard(interest)
                if not left:
                    queues.pop(queue, None)
                if not queues and self.folders.pop(key, None) is not None:
                    self._drop(key)

    async def run(self, on_change: Callable[[], None]) -> None:
        """Report events as they arrive, until cancelled; calls `on_change` when `down` has changed."""
        await trio.sleep_forever()

    def close(self) -> None:
        """Release all resources and stop reporting events."""

    def _drop(self, key: Key) -> None:
        """Stop watching a folder; call with the lock held."""

    def _report(self, key: Key, name: str, *, is_folder: bool) -> None:
        """Report an event to the queues of its folder; call with the lock held."""
        for queue, interests in self.folders.get(key, {}).items():
            for interest in interests:
                queue.note_event(interest, name, is_folder=is_folder)

    def _report_all(self) -> None:
        """Report to every queue that anything may have changed; call with the lock held."""
        for queue in {queue for queues in self.folders.values() for queue in queues}:
            queue.note_change()


class Scan(NamedTuple):
    """What a scan has to list: folders with events, None for all folders; and whether the last scan is too old."""

    changed: frozenset[str] | None
    is_old: bool = False


class Unwatched:
    """The queue of a source whose folders aren't watched: every scan lists all of them."""

    def is_unchanged(self) -> bool:
        """Return whether nothing changed since the last scan; False if unknown."""
        return False

    @contextmanager
    def scan(self) -> Iterator[Scan]:
        """Observe one scan, which runs inside the block."""
        yield Scan(None)

    def enter(
        self, folder: str, names: Names = None, *, is_root: bool = False, opened: OpenFolder | None = None
    ) -> None:
        """Watch a folder that is about to be listed for some names."""

    def enter_above(self, path: str) -> None:
        """Watch the folder above a root, in which the root may be created or removed."""

    def leave(self, folder: str) -> None:
        """Stop watching a folder that is gone."""

    def watch_file(self, path: str, facts: os.stat_result | None) -> None:
        """Check a file each time, because it may change without an event."""

    def give_up(self) -> None:
        """Record that this scan can't be reused, because something isn't watched."""

    def close(self) -> None:
        """Stop watching all folders."""


UNWATCHED: Final = Unwatched()


def _always(_folder: str, _name: str, _is_folder: bool, /) -> bool:
    return True


class WatchQueue(Unwatched):
    """Tracks whether one source's folders have changed since they were listed.

    Only one `scan` at a time, in which each folder is entered before it is listed: the caller needs its own lock.

    Attributes:
        problem: Why events don't report every change of the folders; empty if they do.
        is_relevant: Returns whether an event of a name should cause a sync.
        valid_s: How long a scan is valid without an event.
    """

    def __init__(
        self,
        hint: Hint,
        events: Callable[[], FolderEvents],
        hints: Hints,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.problem = ""
        self.is_relevant: Relevance = _always
        self.valid_s = NOTES_VALID_S
        self._hint = hint
        self._current_events = events
        self._events = events()
        self._hints = hints
        self._now = now
        self._changed: set[str] = set()
        self._whole_s = -math.inf
        self._is_unchanged = False
        self._is_certain = False
        self._is_incomplete = False
        self._keys: dict[Interest, Key] = {}
        self._entered: dict[Interest, Key] = {}
        self._states: dict[str, tuple[bool, State]] = {}
        self._problem = ""

    def __repr__(self) -> str:
        state = "unchanged" if self._is_unchanged else "changed"
        return f"<WatchQueue of {'/'.join(self._hint)}, {len(self._keys)} folders, {state}>"

    def is_unchanged(self) -> bool:
        """Return whether nothing changed since the last scan (blocking, for a few microseconds)."""
        if not self._is_unchanged or self._now() - self._whole_s > self.valid_s:
            return False
        self._events.read()  # clears the flag if there was an event
        # The flag decides, not the result of `read`: another thread may have read the events.
        return self._is_unchanged and not self._has_moved()

    def recheck(self) -> None:
        """Hint the agent if a root was replaced, or if another scan may resolve a problem (blocking)."""
        if self.problem or self._is_incomplete or self._has_moved(roots_only=True):
            self.note_change()

    def note_event(self, interest: Interest, name: str, *, is_folder: bool) -> None:
        """Process an event of a name in a folder, or of the folder itself."""
        if not interest.includes(name):
            return
        self._changed.add(interest.path)
        self._is_unchanged = False
        if not name or interest.names is not None or self.is_relevant(interest.path, name, is_folder):
            self._hints.add([self._hint])

    def note_change(self) -> None:
        """Record that anything may have changed, and hint the agent."""
        self._is_unchanged = False
        self._whole_s = -math.inf
        self._hints.add([self._hint])

    # --- a scan -------------------------------------------------------------------------------------

    @contextmanager
    def scan(self) -> Iterator[Scan]:
        """Watch all folders that are entered inside the block.

        If all folders are listed, others are no longer watched afterwards.
        """
        scan = self._begin()
        try:
            yield scan
        except BaseException:
            self.give_up()
            self._is_incomplete = True
            self._keys |= self._entered
            raise
        self._end()

    def enter(
        self, folder: str, names: Names = None, *, is_root: bool = False, opened: OpenFolder | None = None
    ) -> None:
        """Watch a folder that is about to be listed."""
        if is_root:
            self.enter_above(folder)
        watched = self._add(Interest(folder, names), follow=is_root, opened=opened)
        if is_root:
            state = _state_of(folder, True)
            self._states[folder] = True, state
        if watched.key is None or (is_root and watched.key == NOWHERE and state):
            self.give_up()

    def enter_above(self, path: str) -> None:
        """Watch the nearest existing folder above a path, and above its target if it is behind links."""
        for way in {path, os.path.realpath(path)}:
            below = way
            while (above := os.path.dirname(below)) != below:
                name = os.path.basename(below).casefold()
                interest = Interest(above, frozenset({name}))
                watched = self._events.add(self, interest, follow=True)
                if watched.key is not None:
                    self._entered[interest] = watched.key
                if watched.key != NOWHERE:
                    break
                below = above

    def leave(self, folder: str) -> None:
        """Stop watching a folder that is gone."""
        self._entered.pop(Interest(folder), None)

    def give_up(self) -> None:
        """Record that this scan can't be reused, because something isn't watched."""
        self._is_certain = self._is_unchanged = False
        self._whole_s = -math.inf

    def watch_file(self, path: str, facts: os.stat_result | None) -> None:
        """Check a file each time, because it may change without an event."""
        if self._is_certain:
            self._states[path] = False, () if facts is None else _file_state(facts)
            if sum(not is_root for is_root, _ in self._states.values()) > MAX_LINKED_FILES:
                self.give_up()

    def close(self) -> None:
        """Stop watching all folders."""
        self.give_up()
        self._entered, self._states, self._problem = {}, {}, ""
        self._end()

    def _begin(self) -> Scan:
        if self._events is not (current := self._current_events()):
            self._events, self._keys, self._whole_s = current, {}, -math.inf
        self._is_certain = self._events.read()
        is_lost = self._has_moved() or not self._is_certain or self._whole_s == -math.inf
        is_old = self._now() - self._whole_s > self.valid_s
        self._problem = ""
        self._entered, self._states = ({}, {}) if is_lost else (self._keys.copy(), self._states)
        self._is_unchanged = self._is_certain
        # After the flag: an event is then in the folders of this scan, or clears the flag for the next one.
        changed, self._changed = self._changed, set()
        if is_lost or is_old:
            self._whole_s = self._now()
        return Scan(None if is_lost else frozenset(changed), is_old)

    def _end(self) -> None:
        """Stop watching the folders that a successful scan did not enter."""
        before, self._keys = self._keys, self._entered
        self._events.forget(self, {each: key for each, key in before.items() if self._keys.get(each) != key})
        self._is_incomplete = False
        if self._keys != before:
            log.debug("watch.armed", agent=self._hint[0], source=self._hint[1], folders=len(self._keys))
        if self.problem != self._problem:
            self.problem = self._problem
            self._hints.add()

    def _add(self, interest: Interest, *, follow: bool, opened: OpenFolder | None = None) -> WatchResult:
        """Watch a folder for a further interest."""
        watched = self._events.add(self, interest, follow=follow, opened=opened)
        if watched.key is None:
            self._problem = self._problem or watched.problem
        else:
            self._entered[interest] = watched.key
        return watched

    def _has_moved(self, *, roots_only: bool = False) -> bool:
        """Return whether a root, or a file that is checked each time, has changed since the last scan."""
        return any(
            _state_of(path, is_root) != state
            for path, (is_root, state) in self._states.items()
            if is_root or not roots_only
        )


def _state_of(path: str, is_root: bool) -> State:
    """Return the identity of a root, or the state of a file; empty if it doesn't exist."""
    with suppress(OSError):
        facts = os.stat(path, follow_symlinks=is_root)
        return (facts.st_dev, facts.st_ino) if is_root else _file_state(facts)
    return ()


def _file_state(facts: os.stat_result) -> State:
    """Return the stat fields of a file that change with every write."""
    return facts.st_mode, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns
