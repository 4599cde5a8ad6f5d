"""The exact slice around what matched: the lines of a chunk that hold the most of a question's words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

ENDINGS = (
    "ational",
    "ations",
    "ation",
    "ments",
    "ment",
    "ings",
    "ness",
    "ing",
    "ies",
    "ied",
    "ers",
    "est",
    "ed",
    "er",
    "es",
    "ly",
    "s",
    "y",
    "e",
)
SHORTEST_STEM = 3


@dataclass(frozen=True, slots=True)
class Snippet:
    """A slice of a text with its own lines, both ends inclusive."""

    text: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class _Match:
    """Where a word stands: which one, from where to where, and what finding it is worth."""

    word: int
    start: int
    end: int


def cut_snippet(text: str, start_line: int, words: Sequence[str], limit: int = 700) -> Snippet:
    """Return the slice that shows the most of a question.

    Args:
        text: A chunk's text.
        start_line: The line it begins at.
        words: The question's words; rare ones count more.
        limit: Most characters.

    Returns:
        An exact slice of at most `limit` characters, whole lines where they fit.
    """
    if len(text) <= limit:
        return _slice(text, start_line, 0, len(text))
    matches, worth = _find(text, words)
    starts = _line_starts(text)
    begin = _best_start(text, starts, matches, worth, limit)
    end = _end(text, begin, limit)
    return _slice(text, start_line, begin, end)


def _find(text: str, words: Sequence[str]) -> tuple[list[_Match], list[float]]:
    """Return all places of all words, in order, and what each word is worth (rare ones more)."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters change length in lower case; then positions would not fit
        lowered = text
    matches: list[_Match] = []
    worth: list[float] = []
    for number, stem in enumerate(dict.fromkeys(_stem(word.lower()) for word in words)):
        before = r"(?<!\w)" if stem[:1].isascii() and stem[:1].isalnum() else ""
        places = [found.span() for found in re.finditer(before + re.escape(stem), lowered)]
        matches.extend(_Match(number, start, end) for start, end in places)
        worth.append(1.0 / (1.0 + len(places)) + 0.5)
    matches.sort(key=lambda match: match.start)
    return matches, worth


def _stem(word: str) -> str:
    """Return a word without a common English ending, so that "painted" finds "painting"."""
    if not word.isascii():
        return word
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            return word[: -len(ending)]
    return word


def _line_starts(text: str) -> list[int]:
    """Return where the lines of a text begin."""
    starts = [0]
    starts.extend(found.end() for found in re.finditer("\n", text))
    return [start for start in starts if start < len(text)]


def _best_start(text: str, starts: list[int], matches: list[_Match], worth: list[float], limit: int) -> int:
    """Return where the best window begins: at a line, or inside one that is longer than the window."""
    candidates = list(starts)
    for match in matches:
        before = max((start for start in starts if start <= match.start), default=0)
        if match.end - before > limit:
            candidates.append(_word_start(text, max(before, match.start - limit // 3)))
    best, best_score = 0, -1.0
    for begin in sorted(set(candidates)):
        score = _score(matches, worth, begin, begin + limit)
        if score > best_score + 1e-9:
            best, best_score = begin, score
    return min(best, _last_full_start(text, candidates, limit))


def _score(matches: list[_Match], worth: list[float], begin: int, end: int) -> float:
    """Return what a window shows: each word once, and a little for every further place."""
    seen: set[int] = set()
    total = 0.0
    for match in matches:
        if match.start >= begin and match.end <= end:
            total += worth[match.word] if match.word not in seen else 0.05 * worth[match.word]
            seen.add(match.word)
    return total


def _last_full_start(text: str, candidates: list[int], limit: int) -> int:
    """Return the first beginning from which the window reaches the end: a later one would show less."""
    reaching = [begin for begin in candidates if begin + limit >= len(text)]
    return min(reaching, default=len(text))


def _end(text: str, begin: int, limit: int) -> int:
    """Return where a window ends: after a line where that keeps most of it, else after a word."""
    end = begin + limit
    if end >= len(text):
        return len(text)
    newline = text.rfind("\n", begin + limit // 2, end + 1)
    if newline > begin:
        return newline
    space = text.rfind(" ", begin + limit // 2, end)
    return space if space > begin else end


def _word_start(text: str, at: int) -> int:
    """Return the beginning of the next word, where one begins soon."""
    space = text.find(" ", at, at + 40)
    return space + 1 if space >= 0 else at


def _slice(text: str, start_line: int, begin: int, end: int) -> Snippet:
    """Return a slice with its lines; line breaks around it are left out."""
    while begin < end and text[begin] == "\n":
        begin += 1
    while end > begin and text[end - 1] == "\n":
        end -= 1
    first = start_line + text.count("\n", 0, begin)
    return Snippet(text[begin:end], first, first + text.count("\n", begin, end))
