"""A limited number of values by key; the least recently used are evicted."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """Values by key; `get` and `put` renew a value. Thread-safe.

    Args:
        limit: Most values.
        values: The first values, the least recently used first.
    """

    def __init__(self, limit: int, values: Iterable[tuple[K, V]] = ()) -> None:
        self._limit = limit
        self._lock = Lock()
        self._values: OrderedDict[K, V] = OrderedDict()
        for key, value in values:
            self.put(key, value)

    def __repr__(self) -> str:
        return f"<LruCache of {len(self._values)} values, at most {self._limit}>"

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """Return a value, or None."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        """Store a value."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            if len(self._values) > self._limit:
                self._values.popitem(last=False)

    def take(self, key: K) -> V | None:
        """Remove and return a value, so that one thread at a time owns it; None if there is none."""
        with self._lock:
            return self._values.pop(key, None)

    def items(self) -> list[tuple[K, V]]:
        """Return all values, the least recently used first."""
        with self._lock:
            return list(self._values.items())

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._values.clear()
