"""A text longer than a model's context, in pieces that fit it. Pure."""

from __future__ import annotations

import math
import sys
import unicodedata
from array import array
from collections.abc import Callable, Iterator, Sequence
from operator import mul
from typing import Final

from memd.embedding.local.pair import MAX_CHARACTERS_PER_TOKEN

WINDOW_FILL: Final = 0.9
"""How full windows are meant to be: pieces of equal length differ in tokens, and a full one is cut again."""

CUT_SEARCH_CHARACTERS: Final = 80
"""How far back from a window's end a space is looked for, so that no word is cut in two."""


class UnusableModelError(Exception):
    """The file loads, but gives no vector a text."""


def cut_windows(text: str, count_tokens: Callable[[str], int], limit: int) -> Iterator[tuple[str, int]]:
    """Yield a text in a few pieces of at most `limit` tokens, with their token counts."""
    waiting = [text]
    while waiting:
        piece = waiting.pop()
        parts = math.ceil(len(piece) / (limit * MAX_CHARACTERS_PER_TOKEN))
        if parts <= 1:
            count = count_tokens(piece)
            if count <= limit:
                yield piece, count
                continue
            parts = max(2, math.ceil(count / (limit * WINDOW_FILL)))
        if len(piece) < 2:
            raise UnusableModelError("one character is longer than the context")
        waiting += reversed(_cut_evenly(piece, parts))


def _cut_evenly(text: str, parts: int) -> list[str]:
    """Return a text in `parts` pieces of about equal length, cut at spaces where there are any near."""
    pieces, start = [], 0
    for left in range(min(parts, len(text)), 0, -1):
        end = start + math.ceil((len(text) - start) / left)
        if left > 1:
            space = text.rfind(" ", max(start + 1, end - CUT_SEARCH_CHARACTERS), end)
            end = space if space > start else end
        pieces.append(text[start:end])
        start = end
    return pieces


def prepared(text: str, *, word_piece: bool) -> str:
    """Return a text as llama.cpp should see it.

    Its WordPiece tokenizer keeps only the first letter of a Korean syllable; written out in letters, as
    BERT does it, the syllable survives. Other tokenizers take the text as it is.
    """
    return text if text.isascii() or not word_piece else unicodedata.normalize("NFD", text)


def averaged(vectors: Sequence[array[float]], counts: Sequence[int]) -> array[float]:
    """Return the mean of windows' vectors, each counting by its tokens; a single one stays as it is, bit by bit."""
    if len(vectors) == 1:
        return vectors[0]
    tokens = sum(counts)
    rows = zip(*vectors, strict=True)
    return array("f", [sum(map(mul, counts, row)) / tokens for row in rows])


def packed(numbers: array[float]) -> bytes:
    """Return float32 numbers as little-endian bytes."""
    if sys.byteorder == "big":
        numbers = array("f", numbers)
        numbers.byteswap()
    return numbers.tobytes()
