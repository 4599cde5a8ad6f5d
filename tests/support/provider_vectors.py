"""Vectors out of words: texts that share words are near each other, and the same text always gets the same one."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

WORD = re.compile(r"\w+")

KIND_SHARE = 0.15
"""How much of a vector says whether the text is a question or a document: who mixes them up is noticed."""


def words_vector(text: str, dims: int, model: str = "", kind: str = "") -> NDArray[np.float64]:
    """Return the unit vector of a text."""
    words = WORD.findall(text.lower()) or list(text) or ["(nothing)"]
    total = np.zeros(dims)
    for word in words:
        total += _direction(word, dims, model)
    total /= np.linalg.norm(total) or 1.0
    # The whole text leaves a trace: two texts of the same words in another order are not the same.
    total += KIND_SHARE * _direction(f"\0{text}", dims, model)
    if kind:
        total += KIND_SHARE * _direction(f"\1{kind}", dims, model)
    return np.asarray(total / np.linalg.norm(total))


@lru_cache(maxsize=20_000)
def _direction(word: str, dims: int, model: str) -> NDArray[np.float64]:
    """Return the direction a word points in, of length 1."""
    seed = hashlib.sha256(f"{model}\0{word}".encode("utf-8", "replace")).digest()[:8]
    raw = np.random.default_rng(int.from_bytes(seed, "big")).normal(size=dims)
    return np.asarray(raw / np.linalg.norm(raw))


def token_count(text: str) -> int:
    """Return how many tokens a provider counts in a text, about: four bytes each, and none for nothing."""
    return (len(text.encode("utf-8", "replace")) + 3) // 4
