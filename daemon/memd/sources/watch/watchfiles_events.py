"""File events from the library watchfiles, for systems without inotify.

It can't add folders to a running watch, so a change of the folders restarts it and hints every agent. It reports late,
so every search scans the disk.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import trio
import watchfiles
from watchfiles import Change

from memd.sources.watch.filesystems import MOUNT_TABLE, Mounts, load_mounts
from memd.sources.watch.inotify import RETRY_S, STEP_S, explain_limit
from memd.sources.watch.queue import NOWHERE, FolderEvents, Interest, WatchQueue, WatchResult
from memd.system.safe_open import Identity, OpenFolder

OWN_POLL_MS = 2000
"""Poll interval of watchfiles on kernels without events."""

START_SHARE = 20
"""Ratio of the pause after starting a watch to the duration of the start, which takes at most 5 % of a core."""

MAX_START_PAUSE_S = 10.0
"""Longest such pause, because on a busy machine a start takes long without using the processor."""


class WatchfilesEvents(FolderEvents):
    """Events of all agents' folders, without their subfolders, through one watch of watchfiles.

    Resources: a thread and three descriptors while it runs.
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
        self._mounts = Mounts()
        self._step_ms = round(step_s * 1000)
        self._retry_s = retry_s
        self._ending = threading.Event()
        self._folders_changed = threading.Event()
        self._paths: dict[str, list[str]] = {}
        self._identities: dict[str, Identity] = {}

    def __repr__(self) -> str:
        return f"<WatchfilesEvents of {len(self.folders)} folders>"

    def read(self) -> bool:
        """Return False: events arrive late, from another thread."""
        self._mounts = load_mounts(self._table)
        return False

    def add(
        self, queue: WatchQueue, interest: Interest, *, follow: bool, opened: OpenFolder | None = None
    ) -> WatchResult:
        """Watch a folder, by its path."""
        path = interest.path
        reason = self._mounts.why_foreign(path)
        if reason:
            return WatchResult(None, reason)
        try:
            facts = os.stat(path, follow_symlinks=follow)
        except (FileNotFoundError, NotADirectoryError):
            return WatchResult(NOWHERE)
        except OSError:
            return WatchResult(None)
        if not stat.S_ISDIR(facts.st_mode):
            return WatchResult(NOWHERE)
        reason = self._mounts.why_foreign(path, facts.st_dev)
        if reason:
            return WatchResult(None, reason)
        with self.lock:
            identity = facts.st_dev, facts.st_ino
            if path not in self.folders or self._identities.get(path, identity) != identity:
                self._folders_changed.set()
            self.folders.setdefault(path, {}).setdefault(queue, set()).add(interest)
        return WatchResult(path)

    async def run(self, on_change: Callable[[], None]) -> None:
        """Report events as they arrive, until cancelled; ends within `step_s`."""
        loop = trio.lowlevel.current_trio_token()

        def change() -> None:
            loop.run_sync_soon(on_change)

        self._ending.clear()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._stop_when_cancelled)
            await trio.to_thread.run_sync(self._keep_watching, change, limiter=self._threads)

    async def _stop_when_cancelled(self) -> None:
        """Stop the watch when this task is cancelled, because a thread can't be cancelled."""
        try:
            await trio.sleep_forever()
        finally:
            self._ending.set()
            self._folders_changed.set()

    def _keep_watching(self, on_change: Callable[[], None]) -> None:
        """Watch the existing folders until stopped (blocking)."""
        while True:
            self._folders_changed.clear()
            if self._ending.is_set():
                return
            self._paths = self._find_paths()
            pause_s = self._step_ms * 3 / 1000
            if self._paths:
                started_s = time.perf_counter()
                try:
                    pause_s = max(pause_s, self._watch(on_change, started_s))
                except FileNotFoundError:
                    pass  # a folder was just removed; the next watch is without it
                except (RuntimeError, OSError, ValueError) as error:
                    self.down = explain_failure(error)
                    on_change()
                    pause_s = self._retry_s
            else:
                self._folders_changed.wait(1.0)
            self._ending.wait(pause_s)

    def _find_paths(self) -> dict[str, list[str]]:
        """Return the existing folders: all watched paths of each, by the path in its events."""
        with self.lock:
            folders = [str(path) for path in self.folders]
        identities: dict[str, Identity] = {}
        by_identity: dict[Identity, list[str]] = {}
        for path in folders:
            with suppress(OSError):
                facts = os.stat(path)
                identities[path] = facts.st_dev, facts.st_ino
                if os.access(path, os.R_OK):
                    by_identity.setdefault(identities[path], []).append(path)
        self._identities = identities
        # On macOS events have the real path, without links.
        real = os.path.realpath if sys.platform == "darwin" else str
        return {real(paths[0]): paths for paths in by_identity.values()}

    def _watch(self, on_change: Callable[[], None], started_s: float) -> float:
        """Report events until the folders change; return the pause before the next watch."""
        pause_s = 0.0
        for changes in watchfiles.watch(
            *self._paths,
            watch_filter=None,
            debounce=self._step_ms,
            step=self._step_ms,
            rust_timeout=self._step_ms,
            yield_on_timeout=True,
            stop_event=self._folders_changed,
            raise_interrupt=False,
            force_polling=False,  # by default it polls everything on WSL, including local disks
            poll_delay_ms=OWN_POLL_MS,
            recursive=False,
            ignore_permission_denied=False,  # True hides every error, including reached limits
        ):
            if not pause_s:  # the first yield, after the watch began
                took_s = time.perf_counter() - started_s - self._step_ms / 1000
                pause_s = max(0.001, min(START_SHARE * took_s, MAX_START_PAUSE_S))
                self.down = ""
                on_change()
            with self.lock:
                self._take(changes)
        return pause_s

    def _take(self, changes: Iterable[tuple[Change, str]]) -> None:
        """Report changes; call with the lock held."""
        for change, path in changes:
            if change != Change.modified and path in self._paths:
                self._folders_changed.set()  # the folder's watch has ended
                for own in self._paths[path]:
                    self._report(own, "", is_folder=True)
            above, name = os.path.split(path)
            # A deleted name may have been a folder, unless it was one of SQLite's files of an index.
            is_folder = ".sqlite" not in name if change == Change.deleted else _is_folder(path)
            for folder in self._paths.get(above, ()):
                self._report(folder, name, is_folder=is_folder)


def explain_failure(error: Exception) -> str:
    """Return the cause of an error of watchfiles, with the limit to raise if there is one."""
    text = str(error)
    if "watch limit reached" in text:
        return explain_limit(OSError(28, text))
    for number in (28, 24, 23):
        if f"os error {number})" in text:
            return explain_limit(OSError(number, text))
    if "decode path" in text:
        return f"watchfiles fails on a name that is not UTF-8; rename it: {text}"
    return f"watchfiles failed: {text}"


def _is_folder(path: str) -> bool:
    """Return whether a path is a folder, not a link."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False
