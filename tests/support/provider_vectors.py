"""Vectors from words: texts with common words are similar, and equal texts have equal vectors."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

WORD = re.compile(r"\w+")

KIND_SHARE = 0.15
"""Share of a vector that depends on the input type, so that tests notice mixed-up queries and documents."""


def words_vector(text: str, dims: int, model: str = "", kind: str = "") -> NDArray[np.float64]:
    """Return the unit vector of a text."""
    words = WORD.findall(text.lower()) or list(text) or ["(nothing)"]
    total = np.zeros(dims)
    for word in words:
        total += _direction(word, dims, model)
    total /= np.linalg.norm(total) or 1.0
    # The order of words makes a small difference.
    total += KIND_SHARE * _direction(f"\0{text}", dims, model)
    if kind:
        total += KIND_SHARE * _direction(f"\1{kind}", dims, model)
    return np.asarray(total / np.linalg.norm(total))


@lru_cache(maxsize=20_000)
def _direction(word: str, dims: int, model: str) -> NDArray[np.float64]:
    """Return the unit vector of a word."""
    seed = hashlib.sha256(f"{model}\0{word}".encode("utf-8", "replace")).digest()[:8]
    raw = np.random.default_rng(int.from_bytes(seed, "big")).normal(size=dims)
    return np.asarray(raw / np.linalg.norm(raw))


def token_count(text: str) -> int:
    """Return a provider's approximate token count: one per four bytes, none for an empty text."""
    return (len(text.encode("utf-8", "replace")) + 3) // 4
