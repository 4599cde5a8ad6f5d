"""Which lines repeat a text that was read elsewhere, by hashes of runs of words. Pure.

Only the hashes of what an agent read are stored, never the text. Both sides are compared as they are read: case, signs,
zero-width characters, wide letters and invisible tags make no difference.
"""

from __future__ import annotations

import html
import re
import unicodedata
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memd.text.tokens import encoded_words, folded_words, is_cjk

SHINGLE_WORDS: Final = 5
"""Words of a run that are hashed. With fewer, everyday phrases repeat something from any long page."""

MIN_WORDS: Final = 3
"""Shortest sentence that counts; one of fewer than `SHINGLE_WORDS` words must be repeated whole."""

CJK_WEIGHT: Final = 0.4
"""What a letter of a script without spaces counts of a word."""

MIN_SHARE: Final = 0.6
"""Share of a sentence that must be repeated."""

MIN_RUN: Final = 8.0
"""Words of a longer sentence that are enough, whatever their share."""

_SENTENCE = re.compile(r"""[.!?。！？;；:]\s+|\n|[。！？]|\s[—–|]\s|["“”„«»「」]""")
_UNSEEN = re.compile(
    "[\xad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff]"
)
_TAGS = {0xE0000 + code: code for code in range(0x20, 0x7F)}
_FACTORS = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F],
    np.uint64,
)


def shingles_of(text: str) -> set[int]:
    """Return the hashes of a text: of its runs of words, and of its short sentences."""
    plain = _plain(text)
    words = encoded_words(plain)
    hashes = set(_hashes(words))  # a run may go on over the end of a sentence
    sentences = [encoded_words(sentence) for sentence in _SENTENCE.split(plain)]
    for count in range(MIN_WORDS, SHINGLE_WORDS):  # the runs of longer ones are runs of the text
        codes = _codes([word for words in sentences if len(words) == count for word in words])
        hashes.update(_mixed(list(codes.reshape(-1, count).T)))
    return hashes


def repeated_lines(lines: Sequence[str], is_known: Callable[[int], bool]) -> list[int]:
    """Return the numbers of the lines, from 1, with a sentence that repeats a text whose hashes are known."""
    return [
        number
        for number, line in enumerate(lines, 1)
        if any(_is_repeated(words, is_known) for words in _sentences(line))
    ]


def _is_repeated(words: Sequence[str], is_known: Callable[[int], bool]) -> bool:
    hashes = _hashes([word.encode("utf-8", "replace") for word in words])
    covered = set[int]()
    for at, value in enumerate(hashes):
        if is_known(value):
            covered |= set(range(at, min(at + SHINGLE_WORDS, len(words))))
    weights = [CJK_WEIGHT if is_cjk(word[0]) else 1.0 for word in words]
    weight = sum(weights[at] for at in covered)
    return weight >= MIN_RUN or (weight >= MIN_WORDS and weight >= MIN_SHARE * sum(weights))


def _plain(text: str) -> str:
    """Return a text as a reader sees it: without entities, invisible characters and forms of letters."""
    if "&" in text:
        text = html.unescape(text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _UNSEEN.sub("", text.translate(_TAGS)))
    return text


def _sentences(text: str) -> Iterator[list[str]]:
    """Yield the words of the sentences that are long enough to compare."""
    for sentence in _SENTENCE.split(_plain(text)):
        words = folded_words(sentence)
        if len(words) >= MIN_WORDS:
            yield words


def _hashes(words: Sequence[bytes]) -> list[int]:
    """Return the hashes of runs of words; of fewer words than a run has, one of all."""
    if len(words) < MIN_WORDS:
        return []
    codes, run = _codes(words), min(SHINGLE_WORDS, len(words))
    return _mixed([codes[at : len(words) - run + 1 + at] for at in range(run)])


def _codes(words: Sequence[bytes]) -> NDArray[np.uint64]:
    return np.fromiter(map(zlib.crc32, words), np.uint64, len(words))


def _mixed(columns: Sequence[NDArray[np.uint64]]) -> list[int]:
    """Return the hashes of runs of words, given the codes of all first words, of all second ones and so on."""
    mixed = np.full(len(columns[0]), len(columns), np.uint64)
    for codes, factor in zip(columns, _FACTORS, strict=False):
        mixed = (mixed ^ codes) * factor
        mixed ^= mixed >> np.uint64(29)
    hashes: list[int] = mixed.view(np.int64).tolist()
    return hashes
