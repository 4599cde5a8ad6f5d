"""Near duplicates: the same entry in two notes, or a daily template with small changes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memd.system.cancellation import check_cancelled
from memd.text.tokens import folded_words

MAX_DIFFERENT_BITS = 14
"""Texts whose SimHash fingerprints differ in more bits are distinct; others are compared word by word."""

MIN_JACCARD = 0.8
"""Jaccard index of the words from which two texts are near duplicates."""

MIN_WORDS = 12
"""Shorter texts must be equal: `Standup at 9` and `Standup at 10` are different facts."""


class NearDuplicates:
    """Finds which candidates are near duplicates of a better one.

    Comparing texts is expensive, so only candidates similar to those about to be shown are compared.
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

    def find_originals(self, keys: Collection[int]) -> dict[int, int]:
        """Return for each candidate the best one it duplicates, or itself.

        An original is never a duplicate: a text similar only to a duplicate is an original.
        """
        wanted, pending = set(keys), set(keys)
        while pending:  # originals are decided best first
            self._compare(pending)
            pending = {better for key in pending for better in self._better_near(key)} - wanted
            wanted |= pending
        for at in sorted(wanted - self._first.keys(), key=self._place.__getitem__):
            check_cancelled()
            better = self._better_near(at)
            alike = (each for each in better if self._first[each] == each and self._are_alike(each, at))
            self._first[at] = next(alike, at)
        return {key: self._first[key] for key in keys}

    def find_groups(self, keys: Collection[int]) -> dict[int, list[int]]:
        """Return each original with its near duplicates, itself first."""
        self._compare(keys)
        worse = {key: [self._ids[at] for at in self._near[key] if at > self._place[key]] for key in keys}
        firsts = self.find_originals({each for near in worse.values() for each in near})
        return {key: [key, *(each for each in near if firsts[each] == key)] for key, near in worse.items()}

    def _better_near(self, key: int) -> list[int]:
        """Return better candidates with a similar fingerprint, best first."""
        own = self._place[key]
        return [self._ids[at] for at in self._near[key] if at < own]

    def _compare(self, keys: Collection[int]) -> None:
        """Find the candidates with similar fingerprints for some candidates."""
        fresh = [key for key in keys if key not in self._near]
        if not fresh:
            return
        of_fresh = self._numbers[[self._place[key] for key in fresh]]
        near = np.bitwise_count(of_fresh[:, np.newaxis] ^ self._numbers) <= MAX_DIFFERENT_BITS
        near &= self._numbers != 0
        near[of_fresh == 0] = False
        for key, row in zip(fresh, near, strict=True):
            self._near[key] = row.nonzero()[0].tolist()

    def _are_alike(self, one: int, other: int) -> bool:
        """Return whether the texts of two candidates are near duplicates."""
        missing = [key for key in (one, other) if key not in self._words]
        if missing:
            texts = self._load_texts(missing)
            self._words |= {key: frozenset(folded_words(texts[key])) for key in missing}
        return _are_near_duplicates(self._words[one], self._words[other])


def _are_near_duplicates(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether two texts, as sets of words, are near duplicates."""
    if min(len(one), len(other)) < MIN_WORDS:
        return one == other
    return len(one & other) >= MIN_JACCARD * len(one | other)
