"""SimHash fingerprints: 64-bit numbers that differ in few bits for similar texts.

Moses Charikar's similarity estimation, over words and pairs of neighbouring words.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from memd.text.tokens import encoded_words

_NEXT = np.uint64(0xD6E8FEB86659FD93)  # any odd number: a pair differs from a word, and its order counts
_SPREAD = np.uint64(
    0x9E3779B97F4A7C15
)  # an odd multiplier spreads 32 bits over 64: Knuth's multiplicative hashing

_BLOCK = 254
"""Hashes counted at once: a count fits a byte. Even, so that a word stays with its pair."""


def simhashes(texts: Sequence[str]) -> list[int]:
    """Return the fingerprints of texts, 0 for a text without words; batching is much faster than single calls."""
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
    """Return the fingerprints of texts from the codes of all their words, concatenated."""
    # One byte per bit; eight bytes are added as one 64-bit word. Words and pairs alternate, two rows each.
    bits = np.unpackbits(_hashes(codes).view(np.uint8).reshape(-1, 8), axis=1)
    lanes = bits.view(np.uint64)
    ends = 2 * np.cumsum(lengths)
    lanes[ends - 1] = 0  # the last word of a text starts no pair
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
    """Return a 64-bit hash of each word, and of each word with the next; (words, 2)."""
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
