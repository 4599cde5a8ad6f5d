"""Unified spelling of letters with several forms, for index and query; and white space characters."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import numpy as np

from memd.text.tokens import is_cjk

SPACES = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""Every whitespace character, for `str.strip`."""

WHITESPACE = "\\t\\n\\v\\f\\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
"""The same characters, for use inside a character class."""


_WIDE_FORMS = re.compile("[\uff00-\uffef]+")
_LAST_ASCII = 127
_BEYOND_ASCII = re.compile("[^\0-\x7f]+")
_SPARSE = 64  # up to so many non-ASCII letters, extracting them is faster: English text with dashes
_FEW = 8  # up to so many letters, single replacements are faster than a table
_SPELLINGS = {
    each: plain
    for letters, plain in (
        # FTS5 removes accents from Latin letters but keeps these.
        ("ßẞ", "ss"), ("æÆ", "ae"), ("œŒ", "oe"), ("øØ", "o"), ("łŁ", "l"), ("đĐ", "d"), ("ı", "i"),
        ("ё", "е"), ("Ё", "Е"),
        # Most writing omits Arabic vowel signs and the sign that stretches a word.
        ("أإآٱ", "ا"), ("ى", "ي"), ("ة", "ه"), ("\u0640\u064b\u064c\u064d\u064e\u064f\u0650\u0651\u0652\u0670", ""),
    )
    for each in letters
}  # fmt: skip


class _Table(dict[int, str]):
    """Replacements for `str.translate`, created on first use of a character."""

    def __init__(self, *, apart: bool) -> None:
        super().__init__()
        self._apart = apart

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        spelled = f" {letter} " if self._apart and is_cjk(letter) else _SPELLINGS.get(letter, letter)
        self[code] = spelled
        return spelled


_TOGETHER, _APART = _Table(apart=False), _Table(apart=True)


def index_text(text: str) -> str:
    """Return a text as the index stores it: unified spelling, CJK letters separated."""
    return _spelled(text, _APART)


def unify_spelling(text: str) -> str:
    """Return a text with unified spelling of letters that have several forms."""
    return _spelled(text, _TOGETHER)


def unify_width(text: str) -> str:
    """Return a text in NFC with half-width and full-width letters replaced by ordinary ones."""
    return _WIDE_FORMS.sub(
        lambda run: unicodedata.normalize("NFKC", run[0]), unicodedata.normalize("NFC", text)
    )


def non_ascii_letters(text: str) -> set[str]:
    """Return the distinct non-ASCII characters of a text."""
    if text.isascii():
        return set()
    if len(text) - len(text.encode("ascii", "ignore")) <= _SPARSE:
        return set("".join(_BEYOND_ASCII.findall(text)))
    # `set(text)` would create an object for each character.
    codes = np.unique(np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32))
    return set(map(chr, codes[codes > _LAST_ASCII].tolist()))


def _spelled(text: str, table: _Table) -> str:
    """Return a text translated by a table, after Unicode normalization if a letter requires it."""
    if text.isascii():
        return text
    # Most texts have few non-ASCII characters, so these decide what is required.
    needs = [(_need(letter), letter) for letter in non_ascii_letters(text)]
    if any(need == "compose" for need, _ in needs):
        return unicodedata.normalize("NFKC", text).translate(table)
    special = [letter for need, letter in needs if need]
    if len(special) > _FEW:
        return text.translate(table)
    for letter in special:
        text = text.replace(letter, table[ord(letter)])
    return text


@lru_cache(maxsize=4096)
def _need(letter: str) -> str:
    """Return what a character requires: `compose` (Unicode normalization), `translate` (the table), or ""."""
    if unicodedata.category(letter).startswith("M") or "\u1100" <= letter <= "\u11ff":
        return "compose"
    normal = unicodedata.normalize("NFKC", letter)
    if normal != letter and any(map(str.isalnum, normal)):
        return "compose"
    return "translate" if letter in _SPELLINGS or is_cjk(letter) else ""
