"""Estimated token count of a text.

An ordinary character counts a quarter of a token. Characters of scripts written without spaces (Han, kana, Hangul,
Thai), full-width forms and characters outside the basic plane (emoji) count a whole token, since embedding models use
about one token for each and a chunk has to fit a model's context in any language.
"""

from __future__ import annotations

import re

from memd.text.lazy_pattern import lazy_pattern

UNITS_PER_TOKEN = 4
"""Units are quarters of a token, so that counts are integers."""

WIDE_UNITS = 4
"""Units of one wide character."""

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
"""Inside of a character class: letters of scripts written without spaces, indexed one by one."""

WIDE_CLASS = (
    "\u0e00-\u0e7f\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef"
    "\U00010000-\U0010ffff"
)
"""Inside of a character class: characters of a whole token, which are CJK with punctuation and forms, and all
characters outside the basic plane."""

_CJK = lazy_pattern(f"[{CJK_CLASS}]")
_WORD = lazy_pattern(rf"[{CJK_CLASS}]|[^\W{CJK_CLASS}]+")
_ASCII_WORD = re.compile("[a-z0-9_]+")
_FOLDED = bytes(
    ord(chr(code).lower()) if code < 128 and (chr(code).isalnum() or chr(code) == "_") else ord(" ")
    for code in range(256)
)
"""Lower-case form of each ASCII byte; a blank for bytes outside words."""

_WIDE = lazy_pattern(f"[{WIDE_CLASS}]")
_WIDE_RUN = lazy_pattern(f"[{WIDE_CLASS}]+")


def split_words(text: str) -> list[str]:
    """Return a text's words as they are written, in order; each CJK letter is a word."""
    return _WORD.findall(text)


def folded_words(text: str) -> list[str]:
    """Return a text's words in lower case, in order; each CJK letter is a word."""
    return (_ASCII_WORD if text.isascii() else _WORD).findall(text.lower())


def encoded_words(text: str) -> list[bytes]:
    """Return `folded_words` in UTF-8, but faster; a lone surrogate becomes `?`."""
    if text.isascii():
        return text.encode().translate(_FOLDED).split()
    return [word.encode("utf-8", "replace") for word in folded_words(text)]


def has_cjk(text: str) -> bool:
    """Return whether a text contains a letter of a script written without spaces."""
    return _CJK.search(text) is not None


def is_cjk(character: str) -> bool:
    """Return whether a character is a letter of a script written without spaces."""
    return _CJK.match(character) is not None


def is_wide(character: str) -> bool:
    """Return whether a character counts as a whole token."""
    return _WIDE.match(character) is not None


def has_wide(text: str) -> bool:
    """Return whether a text contains a character that counts as a whole token. Fast for ASCII."""
    return not text.isascii() and _WIDE.search(text) is not None


def count_units(text: str) -> int:
    """Return the units of a text: quarters of a token."""
    if not has_wide(text):
        return len(text)
    narrow = len(_WIDE_RUN.sub("", text))
    return narrow + (len(text) - narrow) * WIDE_UNITS


def estimate_tokens(text: str) -> int:
    """Return the estimated number of tokens of a text, rounded up."""
    return -(-count_units(text) // UNITS_PER_TOKEN)


def asks_at_end(text: str) -> bool:
    """Return whether a text ends with a question mark."""
    return text.endswith(("?", "？"))
