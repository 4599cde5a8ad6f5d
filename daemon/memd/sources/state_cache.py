"""The states of recently read transcripts, so that only additions are read."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Generic, TypeVar

State = TypeVar("State")

KEPT_TRANSCRIPTS = 4
"""Transcripts whose state is cached, so that only additions are read. More concurrent conversations are rare, and a
state may take some MB."""


class StateCache(Generic[State]):
    """Cache of the states of recently loaded transcripts. `take` removes a state, so one thread at a time owns it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._states: OrderedDict[str, State] = OrderedDict()

    def __repr__(self) -> str:
        return f"<StateCache {len(self._states)} transcripts>"

    def take(self, path: str) -> State | None:
        """Remove and return a transcript's state, or None."""
        with self._lock:
            return self._states.pop(path, None)

    def keep(self, path: str, state: State) -> None:
        """Store a transcript's state, evicting the least recently used one."""
        with self._lock:
            self._states[path] = state
            self._states.move_to_end(path)
            while len(self._states) > KEPT_TRANSCRIPTS:
                self._states.popitem(last=False)

    def clear(self) -> None:
        """Remove all states."""
        with self._lock:
            self._states.clear()
