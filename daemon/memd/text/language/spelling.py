"""One spelling for letters that have several, on both sides of a search; and what counts as white space."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import numpy as np

from memd.text.tokens import CJK_CLASS, is_cjk

SPACES = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""Every whitespace character, for `str.strip`."""

WHITESPACE = "\\t\\n\\v\\f\\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
"""The same as the inside of a character class."""


_CJK_RUN = re.compile(f"[{CJK_CLASS}]+")
_WIDE_FORMS = re.compile("[\uff00-\uffef]+")
_LAST_ASCII = 127
_BEYOND_ASCII = re.compile("[^\0-\x7f]+")
_SPARSE = 64  # letters beyond ASCII up to which they are sooner picked out: an English text and its dashes
_FEW = 8  # letters that are replaced one by one faster than all through a table
_SPELLINGS = {
    each: plain
    for letters, plain in (
        # FTS5 takes accents off Latin letters, but leaves these as they are.
        ("ßẞ", "ss"), ("æÆ", "ae"), ("œŒ", "oe"), ("øØ", "o"), ("łŁ", "l"), ("đĐ", "d"), ("ı", "i"),
        ("ё", "е"), ("Ё", "Е"),
        # Arabic vowel signs, and the sign that only stretches a word, are left out in most writing.
        ("أإآٱ", "ا"), ("ى", "ي"), ("ة", "ه"), ("\u0640\u064b\u064c\u064d\u064e\u064f\u0650\u0651\u0652\u0670", ""),
    )
    for each in letters
}  # fmt: skip


class _Table(dict[int, str]):
    """What `str.translate` puts for each character; filled as characters come."""

    def __init__(self, *, apart: bool) -> None:
        super().__init__()
        self._apart = apart

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        spelled = f" {letter} " if self._apart and is_cjk(letter) else _SPELLINGS.get(letter, letter)
        self[code] = spelled
        return spelled


_TOGETHER, _APART = _Table(apart=False), _Table(apart=True)


def spaced(text: str) -> str:
    """Return a text with a space on both sides of every CJK letter, so that FTS5 sees each as a word.

    Used for what is indexed and for what is asked: a quoted run of such letters is then a phrase that matches
    exactly that run.
    """
    if text.isascii():
        return text
    return _CJK_RUN.sub(lambda run: f" {'  '.join(run[0])} ", text)


def index_text(text: str) -> str:
    """Return what the index keeps as a text: one spelling of letters that have several, CJK letters apart."""
    return _spelled(text, _APART)


def one_spelling(text: str) -> str:
    """Return a text with one spelling of letters that have several."""
    return _spelled(text, _TOGETHER)


def without_wide_forms(text: str) -> str:
    """Return a text in NFC with letters of half and full width as the ordinary ones, and nothing else changed."""
    return _WIDE_FORMS.sub(
        lambda run: unicodedata.normalize("NFKC", run[0]), unicodedata.normalize("NFC", text)
    )


def letters_beyond_ascii(text: str) -> set[str]:
    """Return the distinct characters of a text that aren't ASCII."""
    if text.isascii():
        return set()
    if len(text) - len(text.encode("ascii", "ignore")) <= _SPARSE:
        return set("".join(_BEYOND_ASCII.findall(text)))
    # A set of the text's characters would make an object of each of them first: four times the time.
    codes = np.unique(np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32))
    return set(map(chr, codes[codes > _LAST_ASCII].tolist()))


def _spelled(text: str, table: _Table) -> str:
    """Return a text through a table, after Unicode's own rules where a letter needs them."""
    if text.isascii():
        return text
    # Most texts hold few characters beyond ASCII: what they need is known from these.
    needs = [(_need(letter), letter) for letter in letters_beyond_ascii(text)]
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
    """Return what a character needs: `compose` for Unicode's rules, `translate` for the table, or nothing."""
    if unicodedata.category(letter).startswith("M") or "\u1100" <= letter <= "\u11ff":
        return "compose"
    normal = unicodedata.normalize("NFKC", letter)
    if normal != letter and any(map(str.isalnum, normal)):
        return "compose"
    return "translate" if letter in _SPELLINGS or is_cjk(letter) else ""
