"""The states of recently read conversations, so that only additions are read."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Generic, TypeVar

State = TypeVar("State")

CACHED_STATES = 4
"""More concurrent conversations are rare, and a state may take some MB."""


class StateCache(Generic[State]):
    """States of recently loaded conversations. `take` removes a state, so one thread at a time owns it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._states: OrderedDict[str, State] = OrderedDict()

    def __repr__(self) -> str:
        return f"<StateCache {len(self._states)} conversations>"

    def take(self, path: str) -> State | None:
        """Remove and return a conversation's state, or None."""
        with self._lock:
            return self._states.pop(path, None)

    def put(self, path: str, state: State) -> None:
        """Store a conversation's state, evicting the least recently used one."""
        with self._lock:
            self._states[path] = state
            if len(self._states) > CACHED_STATES:
                self._states.popitem(last=False)

    def clear(self) -> None:
        """Remove all states."""
        with self._lock:
            self._states.clear()
