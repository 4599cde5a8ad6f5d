"""Which lines repeat a text that was read elsewhere, by hashes of runs of words. Pure.

Only the hashes of what an agent read are stored, never the text. Both sides are compared as they are read: case, signs,
zero-width characters, wide letters and invisible tags make no difference.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memd.text.tokens import encoded_words, is_cjk

SHINGLE_WORDS: Final = 5
"""Words of a run that are hashed. With fewer, everyday phrases repeat something from any long page."""

MIN_WORDS: Final = 3
"""Shortest sentence that counts; one of fewer than `SHINGLE_WORDS` words must be repeated whole."""

MIN_SIGNS: Final = 3
LONG_WORD: Final = 32
"""Signs that make code of two words, and letters of a word that counts alone: a key, a checksum or encoded text."""

CJK_WEIGHT: Final = 0.4
"""What a letter of a script without spaces counts of a word."""

MIN_SHARE: Final = 0.6
"""Share of a sentence that must be repeated."""

MIN_RUN: Final = 6.0
"""Words of a longer sentence that are enough, whatever their share."""

_SENTENCE = re.compile(
    r"(?<=[.!?。！？;；:])\s+|(?<=[)>`\]])\s+(?=[A-Z])|(?<=[。！？])|\s[—–|]\s|[“”„«»「」]"
)
_QUOTE = re.compile(r"[\"`]|(?<!\w)'|'(?!\w)")
_SIGN = re.compile(r"[^\w\s]")
_UNSEEN = re.compile(
    "[\xad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff]"
)
_WRITTEN = re.compile(r"\\udb40\\udc([0-7][0-9a-f])|\\u(?:00ad|061c|200[b-f]|202[a-e]|206[0-9a-f]|feff)")
"""How memd writes such characters and invisible tags out."""

_TAGS = {0xE0000 + code: code for code in range(0x20, 0x7F)}
_FACTORS = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F],
    np.uint64,
)


def runs_of(text: str) -> set[int]:
    """Return the hashes of a text's runs of words alone, five times as fast."""
    return set(_hashes(encoded_words(_plain(text))))


def shingles_of(text: str) -> set[int]:
    """Return the hashes of a text: of its runs of words, and of its short sentences and quotations."""
    plain = _plain(text)
    hashes = set(_hashes(encoded_words(plain)))  # the runs of long sentences, also over their ends
    short: dict[int, list[bytes]] = {count: [] for count in range(1, SHINGLE_WORDS)}
    for line in plain.split("\n"):
        for words in _sentences(line):
            if len(words) < SHINGLE_WORDS:
                short[len(words)] += words
    for count, words in short.items():
        hashes.update(_mixed(list(_codes(words).reshape(-1, count).T)))
    return hashes


def repeated_lines(lines: Sequence[str], is_known: Callable[[int], bool]) -> list[int]:
    """Return the numbers of the lines, from 1, with a sentence that repeats a text whose hashes are known.

    In a block of lines that was copied, lines count that are too short to compare alone.
    """
    plain = [_plain(line) for line in lines]
    rows = [encoded_words(line) for line in plain]
    words = [word for row in rows for word in row]
    covered = _covered(words, is_known) if len(words) >= SHINGLE_WORDS else set[int]()
    numbers, first = list[int](), 0
    for number, (line, row) in enumerate(zip(plain, rows, strict=True), 1):
        inside = sum(at in covered for at in range(first, first + len(row)))
        first += len(row)
        is_inside = bool(row) and inside >= MIN_SHARE * len(row)
        if is_inside or any(_is_repeated(sentence, is_known) for sentence in _sentences(line)):
            numbers.append(number)
    return numbers


def _covered(words: Sequence[bytes], is_known: Callable[[int], bool]) -> set[int]:
    """Return the places of the words that are in a known run."""
    starts = (at for at, value in enumerate(_hashes(words)) if is_known(value))
    return {place for at in starts for place in range(at, min(at + SHINGLE_WORDS, len(words)))}


def _is_repeated(words: Sequence[bytes], is_known: Callable[[int], bool]) -> bool:
    covered = _covered(words, is_known)
    if not covered:
        return False
    weights = [CJK_WEIGHT if word[0] > 127 and is_cjk(word.decode()[0]) else 1.0 for word in words]
    weight = sum(weights[at] for at in covered)
    is_enough = weight >= min(MIN_WORDS, len(words)) and weight >= MIN_SHARE * sum(weights)
    return weight >= MIN_RUN or is_enough


def _plain(text: str) -> str:
    """Return a text as a reader sees it: without entities, invisible characters and forms of letters."""
    if "&" in text:
        import html  # 0.4 MB of names, which an idle daemon doesn't need

        text = html.unescape(text)
    if "\\u" in text:
        text = _WRITTEN.sub(lambda match: chr(int(match[1], 16)) if match[1] else "", text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _UNSEEN.sub("", text.translate(_TAGS)))
    return text


def _sentences(line: str) -> Iterator[list[bytes]]:
    """Yield the words of a line, of its sentences and quotations, as far as they are long enough to compare."""
    sentences = _SENTENCE.split(line)
    quotations = (part for sentence in sentences for part in _QUOTE.split(sentence))
    for part in dict.fromkeys((line, *sentences, *quotations)):
        words = encoded_words(part)
        if len(words) >= MIN_WORDS or (len(words) == 2 and len(_SIGN.findall(part)) >= MIN_SIGNS):
            yield words
        if len(part) >= LONG_WORD:
            yield from ([word] for word in words if len(word) >= LONG_WORD)


def _hashes(words: Sequence[bytes]) -> list[int]:
    """Return the hashes of runs of words; of fewer words than a run has, one of all."""
    codes, run = _codes(words), min(SHINGLE_WORDS, len(words))
    return _mixed([codes[at : len(words) - run + 1 + at] for at in range(run)])


def _codes(words: Sequence[bytes]) -> NDArray[np.uint64]:
    return np.fromiter(map(zlib.crc32, words), np.uint64, len(words))


def _mixed(columns: Sequence[NDArray[np.uint64]]) -> list[int]:
    """Return the hashes of runs of words, given the codes of all first words, of all second ones and so on."""
    if not columns:
        return []
    mixed = np.full(len(columns[0]), len(columns), np.uint64)
    for codes, factor in zip(columns, _FACTORS, strict=False):
        mixed = (mixed ^ codes) * factor
        mixed ^= mixed >> np.uint64(29)
    hashes: list[int] = mixed.view(np.int64).tolist()
    return hashes
