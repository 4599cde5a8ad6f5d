"""How many tokens a text costs, without a tokenizer: one rule for every language.

A character of an alphabet costs a quarter of a token, OpenClaw's rule. A character of a script that models
read sign by sign, or one outside the basic plane (emoji), costs a whole one: a chunk of Chinese
then never outgrows a model's context.
"""

from __future__ import annotations

import re

UNITS_PER_TOKEN = 4
"""Costs are counted in quarters of a token."""

CJK_CLASS = (
    "\u0e00-\u0e7f"  # Thai
    "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"  # Hangul
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\u3040-\u30ff\u31f0-\u31ff"  # kana
    "\uff66-\uff9f"  # half-width kana
    "\U00020000-\U0003ffff"  # Han beyond the basic plane
)
"""The scripts that are searched character by character, as the inside of a regular expression's class."""

_CJK = re.compile(f"[{CJK_CLASS}]")
_WIDE = re.compile(f"[{CJK_CLASS}\u3000-\u303f\uff00-\uffef\U00010000-\U0010ffff]")


def is_cjk(char: str) -> bool:
    """Return whether a character is searched on its own (Han, kana, Hangul, Thai)."""
    return _CJK.match(char) is not None


def is_wide(char: str) -> bool:
    """Return whether a character costs a whole token."""
    return _WIDE.match(char) is not None


def has_wide(text: str) -> bool:
    """Return whether any character of a text costs a whole token."""
    return not text.isascii() and _WIDE.search(text) is not None


def count_units(text: str) -> int:
    """Return what a text costs, in quarters of a token."""
    if text.isascii():
        return len(text)
    return len(text) + (UNITS_PER_TOKEN - 1) * len(_WIDE.findall(text))


def estimate_tokens(text: str) -> int:
    """Return what a text costs, in whole tokens, rounded up."""
    return -(-count_units(text) // UNITS_PER_TOKEN)
