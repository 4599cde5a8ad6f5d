"""A number of 64 bits for a text: near-equal texts have numbers that differ in few bits.

Moses Charikar's similarity estimation by rounding ("simhash"), over words and pairs of neighbouring words.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from memd.text.tokens import encoded_words

_NEXT = np.uint64(0xD6E8FEB86659FD93)  # any odd number: a pair is no word, and its order counts
_SPREAD = np.uint64(
    0x9E3779B97F4A7C15
)  # an odd multiplier spreads 32 bits over 64: Knuth's multiplicative hashing

_BLOCK = 254
"""Numbers whose bits are counted at once: a count fits a byte. Even, so that no word is parted from its pair."""


def simhashes(texts: Sequence[str]) -> list[int]:
    """Return the numbers of several texts: much sooner than one by one."""
    codes: list[int] = []
    lengths = []
    for text in texts:
        words = encoded_words(text)
        codes += map(crc32, words)
        lengths.append(len(words))
    if not codes:
        return [0] * len(texts)
    numbers = iter(_numbers(codes, [length for length in lengths if length]))
    return [(next(numbers) or 1) if length else 0 for length in lengths]


def _numbers(codes: Sequence[int], lengths: Sequence[int]) -> list[int]:
    """Return the numbers of texts by the codes of all their words, one text's behind the other's."""
    # A byte for each bit, eight of them added up in one word of the processor: words and pairs in turn, two rows each.
    bits = np.unpackbits(_hashes(codes).view(np.uint8).reshape(-1, 8), axis=1)
    lanes = bits.view(np.uint64)
    ends = 2 * np.cumsum(lengths)
    lanes[ends - 1] = 0  # a text's last word is in no pair
    starts: list[int] = []
    firsts = []
    start = 0
    for end in ends.tolist():
        firsts.append(len(starts))
        starts += range(start, end, _BLOCK)
        start = end
    counts = np.add.reduceat(lanes, starts, axis=0).view(np.uint8)
    totals = np.add.reduceat(counts, firsts, axis=0, dtype=np.int64)
    kept = 2 * totals > (2 * np.array(lengths) - 1)[:, np.newaxis]
    numbers: list[int] = np.packbits(kept, axis=1).view("<i8").ravel().tolist()
    return numbers


def _hashes(codes: Sequence[int]) -> NDArray[np.uint64]:
    """Return a number of 64 bits for each word, and beside it one for the word and the next; (words, 2)."""
    single = np.fromiter(codes, np.uint64, len(codes))
    hashes = np.empty((len(codes), 2), np.uint64)
    hashes[:, 0] = single
    hashes[:-1, 1] = single[:-1] * _NEXT + single[1:]
    hashes[-1, 1] = 0
    hashes += np.uint64(1)
    hashes *= _SPREAD
    hashes ^= hashes >> np.uint64(29)
    hashes *= _SPREAD
    return hashes
