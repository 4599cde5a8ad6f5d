"""Whether a text for a model contains a planted text outside a block that is labelled as outside.

It has no code in common with memd's own comparison, so that a mistake there isn't repeated here.
"""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Final

SPAN: Final = 32
"""Letters and digits in a row that betray a planted text; a shorter text must be there whole."""

STEP: Final = 8
MIN_LETTERS: Final = 12
"""A text with fewer letters and digits is looked for together with the sentence around it."""

_BLOCK = re.compile(
    r"<outside-text\b[^>]*\borigin=\\*\"outside\\*\"[^>]*>.*?</outside-text>", re.DOTALL | re.IGNORECASE
)
_ESCAPED = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|[nrtbf\"/])")
_TAGS = {0xE0000 + code: code for code in range(0x20, 0x7F)}
_UNESCAPED_TIMES = 3


def without_outside_blocks(text: str) -> str:
    """Return a text without its labelled blocks, also if the text is JSON."""
    return _BLOCK.sub("\n", text)


def readable(text: str) -> str:
    """Return the letters and digits of a text as a model reads them: decoded, without invisible characters."""
    for _ in range(_UNESCAPED_TIMES):
        text = html.unescape(text)
    text = _ESCAPED.sub(lambda match: chr(int(match[1], 16)) if match[1] else " ", text)
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").translate(_TAGS)
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def signs_of(text: str, sentence: str = "") -> list[str]:
    """Return parts of a text of which one is enough to recognize it."""
    letters = readable(text)
    if len(letters) < MIN_LETTERS:
        return [readable(sentence or text)]
    last = max(len(letters) - SPAN, 0)
    return [letters[at : at + SPAN] for at in sorted({*range(0, last + 1, STEP), last})]


def is_in(signs: list[str], text: str) -> bool:
    """Return whether a text contains one of the parts, wherever it is."""
    letters = readable(text)
    return any(sign in letters for sign in signs)


def is_unlabelled(signs: list[str], text: str) -> bool:
    """Return whether a text contains one of the parts outside a labelled block."""
    return is_in(signs, without_outside_blocks(text))
