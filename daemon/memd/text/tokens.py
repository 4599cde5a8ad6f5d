"""How many tokens a text costs, without a tokenizer.

An ordinary character costs a quarter of a token. A character of a script written without spaces (Han, kana,
Hangul, Thai), a full-width form or one outside the basic plane (an emoji) costs a whole one: embedding models
spend about one token on each, and a chunk must not outgrow a model's context because it is not English.
"""

from __future__ import annotations

import re

UNITS_PER_TOKEN = 4
"""Weights are counted in quarters of a token, so that they stay whole numbers."""

WIDE_UNITS = 4
"""What one wide character costs, in units."""

CJK_CLASS = (
    "\u0e00-\u0e7f"  # Thai
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035"  # marks of repetition, zero, numerals
    "\u3040-\u30ff\u31f0-\u31ff"  # hiragana, katakana
    "\u3100-\u312f\u31a0-\u31bf"  # bopomofo
    "\u3131-\u318e\uac00-\ud7af"  # Hangul letters and syllables
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\uff66-\uffdc"  # half-width kana and Hangul
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"  # kana and Han outside the basic plane
)
"""Inside of a character class: letters of scripts written without spaces, each findable alone."""

WIDE_CLASS = (
    "\u0e00-\u0e7f\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef"
    "\U00010000-\U0010ffff"
)
"""Inside of a character class: what costs a whole token; CJK with its punctuation and forms, and all beyond
the basic plane."""

_CJK = re.compile(f"[{CJK_CLASS}]")
_WORD = re.compile(rf"[{CJK_CLASS}]|[^\W{CJK_CLASS}]+")
_ASCII_WORD = re.compile("[a-z0-9_]+")
_FOLDED = bytes(
    ord(chr(code).lower()) if code < 128 and (chr(code).isalnum() or chr(code) == "_") else ord(" ")
    for code in range(256)
)
"""For each byte of a text in ASCII what it is in a word in lower case: a blank, if it is no part of one."""

_WIDE = re.compile(f"[{WIDE_CLASS}]")
_WIDE_RUN = re.compile(f"[{WIDE_CLASS}]+")


def folded_words(text: str) -> list[str]:
    """Return a text's words in lower case, in order. A CJK letter is a word: its scripts put no space between words."""
    return (_ASCII_WORD if text.isascii() else _WORD).findall(text.lower())


def encoded_words(text: str) -> list[bytes]:
    """Return what `folded_words` returns, in UTF-8, and sooner; a lone surrogate is a question mark."""
    if text.isascii():
        return text.encode().translate(_FOLDED).split()
    return [word.encode("utf-8", "replace") for word in folded_words(text)]


def has_cjk(text: str) -> bool:
    """Return whether any character of a text is a letter of a script written without spaces."""
    return _CJK.search(text) is not None


def is_cjk(character: str) -> bool:
    """Return whether a character is a letter of a script written without spaces."""
    return _CJK.match(character) is not None


def is_wide(character: str) -> bool:
    """Return whether a character costs a whole token."""
    return _WIDE.match(character) is not None


def has_wide(text: str) -> bool:
    """Return whether any character of a text costs a whole token. Fast where the text is ASCII."""
    return not text.isascii() and _WIDE.search(text) is not None


def weigh(text: str) -> int:
    """Return what a text costs in units, quarters of a token."""
    if not has_wide(text):
        return len(text)
    narrow = len(_WIDE_RUN.sub("", text))
    return narrow + (len(text) - narrow) * WIDE_UNITS


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text costs, rounded up."""
    return -(-weigh(text) // UNITS_PER_TOKEN)
