"""One watch queue per agent: hints for its sync, and whether anything changed since its files were scanned.

A scan reads the stat of each file, in every search. Each scan passes on the folders it lists, which are watched from
then on (`FolderEvents`). If inotify reports no event since the last scan, that scan is still valid. The queue is read
inside the search: the kernel queues an event before the system call that caused it returns, so everything written
before the search is noticed.

Some changes raise no event:

- a folder above the agent's roots is renamed: the state of the roots is checked each time;
- a file is written through another hard link: the state of files with several links is checked each time;
- another machine writes to a server's file system, or a new mount hides files: every search scans all files;
- a memory mapping is written to before it is closed, or a hard link is created later: no scan is valid for longer than
  `SCAN_VALID_S`.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

import structlog
import trio

from memd.settings.agents import OPENCLAW_DATABASE
from memd.settings.schema import ExtraPath
from memd.sources.discover import DiscoveryObserver, Names
from memd.sources.rules import is_markdown, is_walked
from memd.system.safe_open import OpenFolder

log = structlog.get_logger(__name__)

SCAN_VALID_S: Final = 2.0
SOURCES_VALID_S: Final = 60.0
"""How long a scan of other programs' files is valid: programs only append to them or replace them."""

MAX_LINKED_FILES: Final = 64
"""Files with several hard links that are checked one by one; if there are more, every search scans all files."""

Kind = Literal["memory", "sessions", "sources"]
Hint = tuple[str, Kind]
"""An agent, and the kind of its files that may have changed."""

Key: TypeAlias = int | str
"""A watched folder: inotify's number or, for watchfiles, its path."""

NOWHERE: Final = 0
"""The key of a missing folder; inotify's numbers start from one."""

State = tuple[int, ...]
"""The relevant stat fields of a file or a root."""


@dataclass(frozen=True, slots=True)
class WatchPlan:
    """The folders of one agent. Session folders are watched without their subfolders."""

    agent: str
    workspace: Path
    extra_paths: tuple[ExtraPath, ...] = ()
    session_folders: tuple[Path, ...] = ()
    has_sources: bool = False

    @property
    def hints(self) -> frozenset[Hint]:
        """Hints for all kinds of files of the agent."""
        kinds: list[Kind] = ["memory"]
        kinds += ["sessions"] if self.session_folders else []
        kinds += ["sources"] if self.has_sources else []
        return frozenset((self.agent, kind) for kind in kinds)


class Interest(NamedTuple):
    """Why a folder is watched. `names`, casefolded, are the relevant ones; None: all notes or transcripts."""

    path: str
    kind: Kind
    names: Names = None

    @property
    def is_transcripts(self) -> bool:
        """Whether the folder contains transcripts."""
        return self.names is None and self.kind == "sessions"

    def includes(self, name: str) -> bool:
        """Return whether an event of a name (empty: the folder itself) may change the result of a scan."""
        return not name or self.names is None or name.casefold() in self.names

    def wants_hint(self, name: str, *, is_folder: bool) -> bool:
        """Return whether an event of a name should cause a sync."""
        if not name or self.names is not None or self.kind == "sources":
            return True
        if self.kind == "memory":
            return is_markdown(name) or (is_folder and is_walked(name))
        return is_transcript(name) and not _is_empty_log(os.path.join(self.path, name))


def is_transcript(name: str) -> bool:
    """Return whether a file may contain a session, including rotated files and the database's log."""
    # The database's shared-memory file changes with every read, including the daemon's.
    return ".jsonl" in name or (name.startswith(OPENCLAW_DATABASE) and not name.endswith("-shm"))


def _is_empty_log(path: str) -> bool:
    """Return whether a path is an empty database log, which every reader creates and removes."""
    try:
        return path.endswith("-wal") and os.lstat(path).st_size == 0
    except OSError:
        return True


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
    """The watched folders of all agents. The base class receives no events: every search scans the disk.

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

    def forget(self, queue: WatchQueue, keys: set[Key]) -> None:
        """Stop reporting the events of some folders to a queue."""
        with self.lock:
            for key in keys:
                queues = self.folders.get(key, {})
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


class WatchQueue(DiscoveryObserver):
    """Tracks whether one agent's folders have changed since they were scanned.

    Only one `scan` at a time, in which each folder is entered before it is listed: the caller needs its own lock.

    Attributes:
        problem: Why events don't report every change of the agent's folders; empty if they do.
    """

    def __init__(
        self,
        agent: str,
        events: Callable[[], FolderEvents],
        plans: Mapping[str, WatchPlan],
        hints: Hints,
        now: Callable[[], float] = time.monotonic,
        kind: Kind = "memory",
    ) -> None:
        self.problem = ""
        self._kind = kind
        self._valid_s = SOURCES_VALID_S if kind == "sources" else SCAN_VALID_S
        self._changed: set[str] = set()
        self._changed_before: frozenset[str] | None = None
        self._whole_s = -math.inf
        self._agent = agent
        self._current_events = events
        self._events = events()
        self._plans = plans
        self._hints = hints
        self._now = now
        self._is_unchanged = False
        self._is_certain = False
        self._is_incomplete = False
        self._since_s = 0.0
        self._keys: set[Key] = set()
        self._entered: set[Key] = set()
        self._states: list[tuple[str, bool, State]] = []
        self._states_before: list[tuple[str, bool, State]] = []
        self._problem = ""
        self._last_key: Key | None = None
        self._empty: dict[tuple[str, int], Key] = {}
        self._empty_before: dict[tuple[str, int], Key] = {}

    def __repr__(self) -> str:
        state = "unchanged" if self._is_unchanged else "changed"
        return f"<WatchQueue of {self._agent}, {len(self._keys)} folders, {state}>"

    def is_unchanged(self) -> bool:
        """Return whether nothing changed since the last scan (blocking, for a few microseconds)."""
        if not self._is_unchanged or self._now() - self._since_s > self._valid_s:
            return False
        self._events.read()  # clears the flag if there was an event
        # The flag decides, not the result of `read`: another thread may have read the events.
        return self._is_unchanged and not self._has_moved()

    def changed_folders(self) -> frozenset[str] | None:
        """Return the folders with events between the last two scans; None if any folder may have changed.

        Call it inside a scan.
        """
        return self._changed_before

    def recheck(self) -> None:
        """Hint the agent if its roots were replaced, or if another scan may resolve its problem (blocking)."""
        if self.problem or self._is_incomplete or self._has_moved(roots_only=True):
            self.note_change()

    def note_event(self, interest: Interest, name: str, *, is_folder: bool) -> None:
        """Process an event of a name in a folder, or of the folder itself."""
        if not interest.includes(name):
            return
        self._changed.add(interest.path)
        if not (interest.is_transcripts and name):
            self._is_unchanged = False
        if interest.wants_hint(name, is_folder=is_folder):
            self._hints.add([(self._agent, interest.kind)])

    def note_change(self) -> None:
        """Record that anything may have changed, and hint the agent."""
        self._is_unchanged = False
        self._whole_s = -math.inf
        plan = self._plans.get(self._agent)
        if plan is not None:
            self._hints.add(plan.hints)

    # --- a scan -------------------------------------------------------------------------------------

    @contextmanager
    def scan(self) -> Iterator[None]:
        """Watch all folders that are entered inside the block; if it succeeds, stop watching others."""
        self._begin()
        try:
            yield
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
        watched = self._add(Interest(folder, self._kind, names), follow=is_root, opened=opened)
        self._last_key = watched.key
        if watched.key is None or (is_root and watched.key == NOWHERE):
            self.give_up()
        if is_root:
            self._states.append((folder, True, _state_of(folder, True)))

    def is_still_empty(self, folder: str, inode: int) -> bool:
        """Return whether a folder was empty in the last scan and has no event since; if so, go on watching it."""
        key = self._empty_before.get((folder, inode))
        if key is not None:
            self._empty[folder, inode] = key
            self._entered.add(key)
        return key is not None

    def note_empty(self, folder: str, inode: int) -> None:
        """Record that the folder entered last is empty."""
        if self._last_key is not None:
            self._empty[folder, inode] = self._last_key

    def keep_watching(self) -> None:
        """Continue to watch all folders, in a scan that enters only changed ones."""
        self._entered |= self._keys
        self._states = [*self._states_before, *self._states]

    def enter_above(self, path: str) -> None:
        """Watch the folder above a root, in which the root may be created or removed."""
        self._enter_above(path, self._kind)

    def give_up(self) -> None:
        """Record that this scan can't be reused, because something isn't watched."""
        self._is_certain = self._is_unchanged = False
        self._whole_s = -math.inf

    def watch_file(self, path: str, facts: os.stat_result | None) -> None:
        """Check a file each time, because it may change without an event."""
        if self._is_certain:
            self._states.append((path, False, () if facts is None else _file_state(facts)))
            if len(self._states) > MAX_LINKED_FILES:
                self.give_up()

    def close(self) -> None:
        """Stop watching all folders."""
        self.give_up()
        self._entered, self._states, self._problem = set(), [], ""
        self._end()

    def _begin(self) -> None:
        if self._events is not (current := self._current_events()):
            self._events, self._keys, self._empty = current, set(), {}
        self._is_certain = self._events.read()
        self._since_s = self._now()
        has_moved = self._has_moved()
        self._entered, self._problem = set(), ""
        self._states_before, self._states = self._states, []
        self._is_unchanged = self._is_certain
        # After the flag: an event is then in the folders of this scan, or clears the flag for the next one.
        changed, self._changed = self._changed, set()
        is_lost = has_moved or not self._is_certain or self._whole_s == -math.inf
        empty = {} if is_lost else self._empty  # nothing appears in a folder without an event
        self._empty_before = {each: key for each, key in empty.items() if each[0] not in changed}
        self._empty = {}
        is_whole = is_lost or self._now() - self._whole_s > self._valid_s
        self._changed_before = None if is_whole else frozenset(changed)
        if is_whole:
            self._whole_s = self._now()
        plan = self._plans.get(self._agent) if self._kind == "memory" else None
        for folder in plan.session_folders if plan is not None else ():
            location = os.path.abspath(folder)
            self._enter_above(location, "sessions")
            self._add(Interest(location, "sessions"), follow=True)

    def _end(self) -> None:
        """Stop watching the folders that a successful scan did not enter."""
        before, self._keys = self._keys, self._entered
        self._events.forget(self, before - self._keys)
        self._is_incomplete = False
        if self._keys != before:
            log.debug("watch.armed", agent=self._agent, folders=len(self._keys))
        if self.problem != self._problem:
            self.problem = self._problem
            self._hints.add()

    def _add(self, interest: Interest, *, follow: bool, opened: OpenFolder | None = None) -> WatchResult:
        """Watch a folder for a further interest."""
        watched = self._events.add(self, interest, follow=follow, opened=opened)
        if watched.key is None:
            self._problem = self._problem or watched.problem
        else:
            self._entered.add(watched.key)
        return watched

    def _enter_above(self, path: str, kind: Kind) -> None:
        """Watch the nearest existing folder above a path, and above its target if it is behind links."""
        for way in {path, os.path.realpath(path)}:
            below = way
            while (above := os.path.dirname(below)) != below:
                name = os.path.basename(below).casefold()
                watched = self._events.add(self, Interest(above, kind, frozenset({name})), follow=True)
                if watched.key is not None:
                    self._entered.add(watched.key)
                if watched.key != NOWHERE:
                    break
                below = above

    def _has_moved(self, *, roots_only: bool = False) -> bool:
        """Return whether a root, or a file that is checked each time, has changed since the last scan."""
        return any(
            _state_of(path, is_root) != state
            for path, is_root, state in self._states
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
