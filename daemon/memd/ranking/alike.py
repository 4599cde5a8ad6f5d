"""Near repetitions: the same entry in two notes, a daily template filled in a little differently."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from memd.text.tokens import folded_words

MOST_BITS = 14
"""Numbers of likeness further apart than this are of different texts; those nearer are compared word by word."""

ALIKE = 0.8
"""Share of common words (Jaccard) from which two texts say the same."""

LEAST_WORDS = 12
"""Shorter texts are alike too easily: `Standup at 9` and `Standup at 10` say different things."""


class Repeats:
    """Which candidates repeat a better one; found out for those that are asked for.

    Of two hundred candidates a few are shown. Comparing two texts word by word costs more than ranking them did, so
    only what stands near those few is compared.

    Args:
        ids: Candidates, best first.
        likeness: Their numbers, as `memd.text.likeness` makes them; 0 is like nothing.
        load_texts: Gives texts by id, at least those asked for.
    """

    def __init__(
        self,
        ids: Sequence[int],
        likeness: Mapping[int, int],
        load_texts: Callable[[list[int]], Mapping[int, str]],
    ) -> None:
        self._load_texts = load_texts
        self._place = {key: place for place, key in enumerate(ids)}
        self._words: dict[int, frozenset[str]] = {}
        self._first: dict[int, int] = {}
        self._ids = ids
        self._numbers = np.array([likeness[key] for key in ids], dtype=np.int64).view(np.uint64)
        self._is_known = self._numbers != 0
        self._near_places: dict[int, list[int]] = {}

    def first_of(self, key: int) -> int:
        """Return the best candidate that one repeats, itself where it repeats none.

        What is repeated repeats nothing itself: a text that is like a repetition alone stands for itself.

        Args:
            key: A candidate.
        """
        wanted, pending = {key}, [key]
        while pending:  # better ones must be known first
            for each in self._better_near(pending.pop()):
                if each not in self._first and each not in wanted:
                    wanted.add(each)
                    pending.append(each)
        for at in sorted(wanted - self._first.keys(), key=self._place.__getitem__):
            better = self._better_near(at)
            alike = (each for each in better if self._first[each] == each and self._are_alike(each, at))
            self._first[at] = next(alike, at)
        return self._first[key]

    def group_of(self, key: int) -> list[int]:
        """Return a candidate that repeats none, and all that repeat it.

        Args:
            key: The candidate.
        """
        own = self._place[key]
        worse = [self._ids[at] for at in self._near(key) if at > own]
        return [key, *(each for each in worse if self.first_of(each) == key)]

    def _better_near(self, key: int) -> list[int]:
        """Return the candidates before one whose numbers are near to its own, the best first."""
        own = self._place[key]
        return [self._ids[at] for at in self._near(key) if at < own]

    def _near(self, key: int) -> list[int]:
        """Return the places of all candidates whose numbers are near to one's own, itself mostly among them."""
        found = self._near_places.get(key)
        if found is None:
            place = self._place[key]
            near = np.bitwise_count(self._numbers ^ self._numbers[place]) <= MOST_BITS
            near &= self._is_known
            found = near.nonzero()[0].tolist() if self._is_known[place] else []
            self._near_places[key] = found
        return found

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
