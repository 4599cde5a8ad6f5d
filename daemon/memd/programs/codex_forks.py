"""Lines of a Codex transcript that were copied from another session."""

from __future__ import annotations

import re
from typing import Final

COPY_GAP_MS: Final = 1_000
"""Longest time between two lines of a copy: Codex writes it at once, with the times of the writing."""

_TIMED_ID = re.compile(r"([0-9a-fA-F]{8})-([0-9a-fA-F]{4})-7[0-9a-fA-F]{3}-")
"""A UUID of version 7, which begins with a time."""


class ForkedLines:
    """Decides which lines of a transcript are copies.

    A subagent's transcript gives the number of its own first line. A fork gives the id of its source in a second
    `session_meta`, and copies follow: in turns that are older than the session, with older times, or written at once.
    """

    def __init__(self) -> None:
        self.is_open = False
        """Whether the lines of a copy may follow."""
        self._started_ms = 0
        self._first: int | None = None
        self._last_ms = 0
        self._is_old_turn = False

    def begin(self, session_id: str, started_ms: int | None, first: object) -> None:
        """Begin a transcript; `first` is the ordinal of its first own line, None without."""
        self._started_ms = max(started_ms or 0, _time_of_id(session_id) or 0)
        if isinstance(first, int) and not isinstance(first, bool) and first > 0:
            self._first = first

    def open(self, time_ms: int | None) -> None:
        """Begin a copy of another session."""
        self.is_open = self._first is None
        self._last_ms, self._is_old_turn = time_ms or self._started_ms, False

    def enter_turn(self, turn_id: object) -> None:
        """Enter a turn: the id of one of the copied session's is older than this session."""
        time_ms = _time_of_id(turn_id) if self.is_open and isinstance(turn_id, str) else None
        if time_ms is not None:
            self._is_old_turn = time_ms < self._started_ms
            self.is_open = self._is_old_turn

    def is_copied(self, time_ms: int | None, ordinal: object, place: int) -> bool:
        """Return whether a line is a copy, by its time and its ordinal, which is that of its place if missing."""
        if self._first is not None:
            if isinstance(ordinal, int) and not isinstance(ordinal, bool):
                return ordinal < self._first
            return place <= self._first
        if not self.is_open:
            return False
        if self._is_old_turn or time_ms is None or time_ms < self._started_ms:
            return True
        self.is_open = time_ms - self._last_ms < COPY_GAP_MS
        self._last_ms = time_ms
        return self.is_open


def _time_of_id(value: str) -> int | None:
    """Return the time in a UUID of version 7, in milliseconds; None for other ids."""
    found = _TIMED_ID.match(value)
    return int(found[1] + found[2], 16) if found is not None else None
