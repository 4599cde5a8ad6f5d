"""Caches what git and the disk give for commits and unchanged files."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar

from memd.git.checkout import Checkout, GitError, History

MAX_VALUES: Final = 400
SPARE_S: Final = 90 * 86_400
"""How much more history is read than is needed, so that older hits don't need it to be read again."""

T = TypeVar("T")


class NotCachedError(Exception):
    """A value must be loaded, which takes time."""


class Memo:
    """Values by key, which several instances may share; unless it loads them, missing ones raise `NotCachedError`."""

    def __init__(self, values: dict[Hashable, Any], *, is_loading: bool) -> None:
        self._values = values
        self._is_loading = is_loading

    def get(self, key: Hashable, load: Callable[[], T]) -> T | None:
        """Return a value; None if git or the disk can't give it."""
        if key not in self._values:
            if not self._is_loading:
                raise NotCachedError
            while len(self._values) >= MAX_VALUES:
                self._values.pop(next(iter(self._values)), None)
            try:
                self._values[key] = load()
            except (GitError, OSError, ValueError):
                self._values[key] = None
        value: T | None = self._values.get(key)
        return value

    def find_history(self, repository: Checkout, since_s: int) -> History | None:
        """Return the history of the current commit, at least since a time; None if git can't give it."""
        head = repository.head()
        cached: tuple[str, int, History | None] = self._values.get(repository, ("", since_s, None))
        if head and (cached[0] != head or cached[1] > since_s):
            since_s = max(0, min(since_s, cached[1]) - SPARE_S)
            history = self.get((head, since_s), lambda: repository.load_history(head, since_s))
            self._values.pop((head, since_s), None)  # one history for each repository
            cached = self._values[repository] = (head, since_s, history)
        return cached[2] if head else None
