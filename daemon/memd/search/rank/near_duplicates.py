"""Near repetitions: the same entry in two notes, a daily template filled in a little differently."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memd.system.cancellation import check_cancelled
from memd.text.tokens import folded_words

MOST_BITS = 14
"""Numbers of likeness further apart than this are of different texts; those nearer are compared word by word."""

ALIKE = 0.8
"""Share of common words (Jaccard) from which two texts say the same."""

LEAST_WORDS = 12
"""Shorter texts are similar too easily: `Standup at 9` and `Standup at 10` say different things."""


class NearDuplicates:
    """Which candidates repeat a better one; found out for those that are asked for.

    Of two hundred candidates a few are shown. Comparing two texts word by word costs more than ranking them did, so
    only candidates near those few are compared.
    """

    def __init__(
        self,
        ids: Sequence[int],
        likeness: Sequence[int] | NDArray[np.int64],
        load_texts: Callable[[list[int]], Mapping[int, str]],
    ) -> None:
        self._load_texts = load_texts
        self._place = {key: place for place, key in enumerate(ids)}
        self._words: dict[int, frozenset[str]] = {}
        self._first: dict[int, int] = {}
        self._ids = ids
        self._numbers = np.array(likeness, dtype=np.int64).view(np.uint64)
        self._near: dict[int, list[int]] = {}

    def firsts_of(self, keys: Collection[int]) -> dict[int, int]:
        """Return the best candidate that each of some repeats, itself where it repeats none.

        What is repeated repeats nothing itself: a text that is like a repetition alone stands for itself.
        """
        wanted, pending = set(keys), set(keys)
        while pending:  # better ones must be known first
            self._compare(pending)
            pending = {better for key in pending for better in self._better_near(key)} - wanted
            wanted |= pending
        for at in sorted(wanted - self._first.keys(), key=self._place.__getitem__):
            check_cancelled()
            better = self._better_near(at)
            alike = (each for each in better if self._first[each] == each and self._are_alike(each, at))
            self._first[at] = next(alike, at)
        return {key: self._first[key] for key in keys}

    def groups_of(self, keys: Collection[int]) -> dict[int, list[int]]:
        """Return for candidates that repeat none each one, and all that repeat it."""
        self._compare(keys)
        worse = {key: [self._ids[at] for at in self._near[key] if at > self._place[key]] for key in keys}
        firsts = self.firsts_of({each for near in worse.values() for each in near})
        return {key: [key, *(each for each in near if firsts[each] == key)] for key, near in worse.items()}

    def _better_near(self, key: int) -> list[int]:
        """Return the candidates before one whose numbers are near to its own, the best first."""
        own = self._place[key]
        return [self._ids[at] for at in self._near[key] if at < own]

    def _compare(self, keys: Collection[int]) -> None:
        """Find the places of all candidates whose numbers are near to those of some, each mostly near to itself."""
        fresh = [key for key in keys if key not in self._near]
        if not fresh:
            return
        of_fresh = self._numbers[[self._place[key] for key in fresh]]
        near = np.bitwise_count(of_fresh[:, np.newaxis] ^ self._numbers) <= MOST_BITS
        near &= self._numbers != 0
        near[of_fresh == 0] = False
        for key, row in zip(fresh, near, strict=True):
            self._near[key] = row.nonzero()[0].tolist()

    def _are_alike(self, one: int, other: int) -> bool:
        """Return whether the texts of two candidates say the same."""
        missing = [key for key in (one, other) if key not in self._words]
        if missing:
            texts = self._load_texts(missing)
            self._words |= {key: frozenset(folded_words(texts[key])) for key in missing}
        return _say_the_same(self._words[one], self._words[other])


def _say_the_same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether two texts, as their sets of words, say the same."""
    if min(len(one), len(other)) < LEAST_WORDS:
        return one == other
    return len(one & other) >= ALIKE * len(one | other)
