"""Grammar words by language, from `stopwords.txt`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from memd.text.data_files import read_words

_ACCENTS = re.compile(
    "[\u0300-\u0304\u0306\u0307\u0309-\u0331]"
)  # keeps the umlaut's dots: `über` is not `uber`
_LISTS = read_words(Path(__file__).with_suffix(".txt"))


def _with_bare_forms(words: Iterable[str]) -> frozenset[str]:
    """Return words with and without accents: queries often omit them."""
    bare = {
        unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", word))) for word in words
    }
    return frozenset([*words, *(word for word in bare if word.isascii())])


def _by_language(kind: str) -> dict[str, tuple[str, ...]]:
    return {name.removeprefix(kind): words for name, words in _LISTS.items() if name.startswith(kind)}


REFERENCE_WORDS = frozenset(word for words in _by_language("reference-").values() for word in words)
"""Words that OpenClaw removes from a conversational query; conformance tests compare them."""

WORDS_OF = {language: _with_bare_forms(words) for language, words in _by_language("grammar-").items()}
"""Grammar words by language (ISO 639-1)."""

FREQUENT_WORDS = _by_language("frequent-")
"""Frequent words that identify a language and are not grammar."""

KOREAN_PARTICLES = _LISTS["particles-ko"]
KOREAN_WORDS = frozenset(_LISTS["reference-ko"])
KOREAN_GRAMMAR = frozenset(_LISTS["words-ko"])
KOREAN_ENDINGS = _LISTS["endings-ko"]
CHINESE_GRAMMAR = frozenset(_LISTS["words-zh"])
CHINESE_WHOLE = frozenset(_LISTS["whole-zh"])
JAPANESE_GRAMMAR = frozenset(_LISTS["words-ja"])
THAI_GRAMMAR = frozenset(_LISTS["words-th"])
