"""Which words of a snippet to mark for a question. Pure; it shows a match and has no say in ranking."""

from __future__ import annotations

import re

from memd.cli.lines import Piece

_STOP_WORDS = """
a an and are as at be but by did do does for from had has have how i if in is it its me my not of on or our so
that the their them then there they this to was we were what when where which who why will with you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Marked they would only be noise, so they are marked only where a question has no other word."""

WORD = re.compile(r"[^\W_]+")
WIDE = re.compile(
    "[\u0e00-\u0e7f\u1100-\u11ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)
"""Runs of scripts written without spaces: Thai, Hangul, kana, Han."""

ENDINGS = ("ings", "ing", "ies", "ied", "ers", "ed", "es", "er", "ly", "s", "e", "y")
MIN_STEM = 4
"""Letters that are left of a word at least: shorter stems match too much."""


def pattern_for(query: str) -> re.Pattern[str] | None:
    """Return what finds the words of a question in a text, in any inflection; None where it has no words."""
    wide = WIDE.findall(query)
    words = [word.casefold() for word in WORD.findall(WIDE.sub(" ", query))]
    telling = [word for word in words if word not in STOP_WORDS] or words
    parts = [re.escape(piece) for run in wide for piece in _pairs(run)]
    parts += [rf"(?<![^\W_]){re.escape(_stem(word))}[^\W_]*" for word in telling if len(word) > 2]
    parts += [rf"(?<![^\W_]){re.escape(word)}(?![^\W_])" for word in telling if len(word) <= 2]
    if not parts:
        return None
    longest_first = sorted(set(parts), key=lambda part: (-len(part), part))
    return re.compile("|".join(longest_first), re.IGNORECASE)


def marked(text: str, pattern: re.Pattern[str] | None) -> tuple[Piece, ...]:
    """Return a text in pieces, those that match marked."""
    if pattern is None:
        return (text,)
    pieces: list[Piece] = []
    end = 0
    for match in pattern.finditer(text):
        pieces += [text[end : match.start()], (match.group(), "match")]
        end = match.end()
    pieces.append(text[end:])
    return tuple(piece for piece in pieces if piece)


def _pairs(run: str) -> list[str]:
    """Return the overlapping pairs of a run, or the run itself where it is shorter than three."""
    return [run] if len(run) < 3 else [run[place : place + 2] for place in range(len(run) - 1)]


def _stem(word: str) -> str:
    """Return a word without its ending, where enough of it is left."""
    if any(char.isdigit() for char in word):
        return word
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= MIN_STEM:
            return word[: -len(ending)]
    return word
