"""A number of 64 bits for a text: near-equal texts have numbers that differ in few bits.

Moses Charikar's similarity estimation by rounding ("simhash"), over words and pairs of neighbouring words.
"""

from __future__ import annotations

from zlib import crc32

import numpy as np

from memd.text.tokens import folded_words

BITS = 64

_NEXT = np.uint64(0xD6E8FEB86659FD93)  # any odd number: a pair is no word, and its order counts
_SPREAD = np.uint64(
    0x9E3779B97F4A7C15
)  # an odd multiplier spreads 32 bits over 64: Knuth's multiplicative hashing


def likeness(text: str) -> int:
    """Return a text's number.

    Args:
        text: Any text.

    Returns:
        A signed number of 64 bits, as SQLite stores it; 0 for a text without a word.
    """
    words = folded_words(text)
    if not words:
        return 0
    single = np.array([crc32(word.encode("utf-8", "replace")) for word in words], dtype=np.uint64)
    pairs = single[:-1] * _NEXT + single[1:]
    hashes = np.concatenate((single, pairs))
    hashes = (hashes + np.uint64(1)) * _SPREAD
    hashes ^= hashes >> np.uint64(29)
    hashes *= _SPREAD
    bits = np.unpackbits(hashes.view(np.uint8).reshape(-1, 8), axis=1)
    kept = np.packbits(2 * bits.sum(axis=0, dtype=np.int64) > len(hashes))
    return int.from_bytes(kept.tobytes(), "little", signed=True) or 1


def bits_apart(one: int, other: int) -> int:
    """Return in how many of 64 bits two numbers differ."""
    return ((one ^ other) & ((1 << BITS) - 1)).bit_count()
