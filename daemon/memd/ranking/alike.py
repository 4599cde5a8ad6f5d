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


def group_alike(
    ids: Sequence[int], likeness: Mapping[int, int], load_texts: Callable[[list[int]], Mapping[int, str]]
) -> dict[int, int]:
    """Return which candidate each one repeats.

    Args:
        ids: Candidates, best first.
        likeness: Their numbers, as `memd.text.likeness` makes them; 0 is like nothing.
        load_texts: Gives texts by id; asked once, for those that may be alike.

    Returns:
        The id of the best candidate each one is alike to, itself where it repeats none.
    """
    first = {key: key for key in ids}
    numbers = np.array([likeness[key] for key in ids], dtype=np.int64).view(np.uint64)
    if len(ids) < 2:
        return first
    near = np.flatnonzero(np.bitwise_count(numbers[:, None] ^ numbers[None, :]) <= MOST_BITS)
    ones, others = np.divmod(near, len(ids))
    real = (ones < others) & (numbers[ones] != 0) & (numbers[others] != 0)
    if not real.any():
        return first
    pairs = [
        (ids[one], ids[other]) for one, other in zip(ones[real].tolist(), others[real].tolist(), strict=True)
    ]
    texts = load_texts(sorted({key for pair in pairs for key in pair}))
    words = {key: frozenset(folded_words(text)) for key, text in texts.items()}
    for one, other in pairs:
        if first[one] == one and first[other] == other and _are_alike(words[one], words[other]):
            first[other] = one
    return first


def _are_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether two texts, as their sets of words, say the same."""
    if min(len(one), len(other)) < LEAST_WORDS:
        return one == other
    return len(one & other) >= ALIKE * len(one | other)
