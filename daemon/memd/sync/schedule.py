"""When an agent's text is synced without a search asking: file events, intervals, session events.

None of it decides what is true: a search looks at the disk itself. Syncing early leaves that look little to do, and has
vectors ready.
"""

from __future__ import annotations

import math
import os
from collections import OrderedDict
from collections.abc import Callable

import trio

from memd.index.files import FileRow
from memd.settings.schema import SessionSync, Sync
from memd.sync.disk.discover import Found
from memd.sync.disk.safe_open import open_unlinked
from memd.sync.text.text_sync import TextSync
from memd.system.clock import Clock

SESSION_DEBOUNCE_S = 5.0
"""Quiet time after which a transcript's growth is looked at: a turn of talk is some seconds of writes."""

LONGEST_DEBOUNCE = 4
"""A file that is written to without end is synced after this many times the quiet time all the same."""

FULL_EVERY_S = 600.0
"""How often everything is looked at whatever the watcher said: a lost event costs ten minutes at most, and
only if no search comes meanwhile."""

SESSION_KEYS = 1000
"""Session keys remembered: each session's start syncs once."""


class Debounced:
    """An action that follows a burst of hints, once it has been quiet for a while."""

    def __init__(self, quiet_s: float, action: Callable[[], None]) -> None:
        self._quiet_s = quiet_s
        self._action = action
        self._hinted = trio.Event()

    def hint(self) -> None:
        """Say that something may have happened."""
        self._hinted.set()

    async def run(self) -> None:
        """Act after each burst until cancelled."""
        while True:
            await self._hinted.wait()
            latest = trio.current_time() + self._quiet_s * LONGEST_DEBOUNCE
            while self._hinted.is_set():
                self._hinted = trio.Event()
                with trio.move_on_at(min(latest, trio.current_time() + self._quiet_s)):
                    await self._hinted.wait()
                if trio.current_time() >= latest:
                    break
            self._hinted = trio.Event()
            self._action()


class Schedule:
    """Decides when one agent's text is synced."""

    def __init__(self, text: TextSync, settings: Sync, *, clock: Clock, disk: trio.CapacityLimiter) -> None:
        self._text = text
        self._settings = settings
        self._clock = clock
        self._disk = disk
        self._notes = Debounced(settings.watch_debounce_ms / 1000, text.sync_nowait)
        self._growth = trio.Event()
        self._transcripts = Debounced(SESSION_DEBOUNCE_S, lambda: self._growth.set())
        self._keys: OrderedDict[str, None] = OrderedDict()

    def hint(self, kind: str) -> None:
        """Take the watcher's hint."""
        (self._transcripts if kind == "sessions" else self._notes).hint()

    def session_started(self, session_key: str) -> bool:
        """Sync once for each session that starts, where the settings want it."""
        if not self._settings.on_session_start or session_key in self._keys:
            return False
        self._keys[session_key] = None
        if len(self._keys) > SESSION_KEYS:
            self._keys.popitem(last=False)
        self._text.sync_nowait()
        return True

    def compacted(self) -> None:
        """Sync after an agent's context was compacted: its flush has just written notes."""
        self._text.sync_nowait()

    async def run(self) -> None:
        """Serve hints and intervals until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._notes.run)
            nursery.start_soon(self._transcripts.run)
            nursery.start_soon(self._follow_growth)
            nursery.start_soon(self._every, self._settings.interval_minutes * 60.0 or math.inf)
            nursery.start_soon(self._every, FULL_EVERY_S)

    async def _every(self, pause_s: float) -> None:
        """Sync again and again; a sync that any other reason brought about since counts."""
        wait_s = self._due_in_s(pause_s)
        while True:
            before_ms = self._text.last_sync_ms
            await trio.sleep(wait_s)
            if self._text.last_sync_ms == before_ms:
                self._text.sync_nowait()
                wait_s = pause_s
            else:
                wait_s = self._due_in_s(pause_s)

    def _due_in_s(self, pause_s: float) -> float:
        """Return how long until a sync is due; the last one may have been in an earlier run of the daemon."""
        if self._text.last_sync_ms is None or pause_s == math.inf:
            return pause_s
        passed_s = (self._clock() - self._text.last_sync_ms) / 1000
        # A wall clock that was set back must not put the next sync off for ever.
        return max(0.0, pause_s - passed_s) if passed_s >= 0 else pause_s

    async def _follow_growth(self) -> None:
        """Sync when transcripts have grown enough since they were indexed."""
        while True:
            await self._growth.wait()
            self._growth = trio.Event()
            if await trio.to_thread.run_sync(self._has_grown, limiter=self._disk):
                self._text.sync_nowait()

    def _has_grown(self) -> bool:
        """Return whether transcripts differ enough from what is indexed (blocking)."""
        _, changes = self._text.see()
        if any(row.source == "sessions" for row in changes.gone):
            return True
        rows = self._text.rows
        return any(
            has_grown(found, rows.get(found.path), self._settings.sessions)
            for found in changes.read
            if found.source == "sessions"
        )


def has_grown(found: Found, row: FileRow | None, limits: SessionSync) -> bool:
    """Return whether a transcript has grown enough to be worth indexing before anybody asks (blocking)."""
    if not found.ctime_ns:  # no file: a session in a database, whose inode is the number of its last event
        return found.inode - (row.inode if row is not None else 0) >= limits.delta_messages
    indexed = row.size if row is not None else 0
    grown = found.size - indexed
    if grown < 0 or grown >= limits.delta_bytes or (row is not None and found.inode != row.inode):
        return True
    return _count_lines(found.location, indexed, grown) >= limits.delta_messages


def _count_lines(location: str, start: int, length: int) -> int:
    """Return how many lines a part of a file has; 0 where it can't be read."""
    try:
        handle = open_unlinked(location)
        try:
            return os.pread(handle, length, start).count(b"\n")
        finally:
            os.close(handle)
    except OSError:
        return 0
