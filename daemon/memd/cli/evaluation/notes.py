"""Notes as lines, and which lines contain a text. Pure.

A line is what a query is made from: a heading, or a line of text without Markdown's signs, comments and code fences.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from memd.cli.search import STOP_WORDS, UNSPACED, WORD

NEAR_CHARACTERS = 800
"""How far a place extends from its line, within its section: about as far as the chunk that contains the line."""

MAX_POSTINGS = 50
"""Lines listed per word; a word in more lines says nothing about a place."""

MIN_WORD_LETTERS = 3
"""Shortest distinctive term; shorter ones are mostly grammar."""

_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_SPEAKER = re.compile(r"^(?:User|Assistant): ")
_BULLET = re.compile(r"^\s*(?:>\s*)*(?:[-*+]\s+|\d+[.)]\s+)?(?:\[[ xX]\]\s+)?")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_WIKI_LINK = re.compile(r"\[\[(?:[^\]|]*\|)?([^\]]*)\]\]")
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+")
_EMPHASIS = re.compile(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)|[`|]")


class NoteKind(StrEnum):
    """The kinds of files in the table of `memctl eval`."""

    DAILY = "daily notes"
    CURATED = "curated notes"
    OTHER = "other notes"
    EXTRA = "extra paths"
    TRANSCRIPT = "transcripts"


@dataclass(frozen=True, slots=True)
class NoteText:
    """The text of a file, or of a part of a transcript.

    Attributes:
        path: The path, as in a hit.
        kind: The kind of file.
        text: The text.
        day: The day in the file's name (YYYY-MM-DD), or None.
        lines: First and last line in the file, if the lines of `text` are not those of the file from 1 on.
    """

    path: str
    kind: NoteKind
    text: str
    day: str | None = None
    lines: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class NoteLine:
    """A line of a note.

    Attributes:
        note: The note.
        number: The line's number in the file.
        text: Its text without Markdown.
        level: The level of a heading, 0 for other lines.
        first, last: The lines around it that a chunk with it is expected to have.
        following: The next line with text, of a heading.
    """

    note: NoteText
    number: int
    text: str
    level: int
    first: int
    last: int
    following: str = ""


def tokens(text: str) -> list[str]:
    """Return the words of a text in lower case; of scripts without spaces its characters."""
    found: list[str] = []
    for word in WORD.findall(text.casefold()):
        if UNSPACED.search(word) is None:
            found.append(word)
        else:
            found += [each for run in _runs(word) for each in (run if UNSPACED.match(run) else [run])]
    return found


def text_key(text: str) -> str:
    """Return the tokens of a text with spaces around them, for comparing and finding texts."""
    return f" {' '.join(tokens(text))} "


def _runs(word: str) -> Iterator[str]:
    """Yield the parts of a word in scripts with and without spaces, in order."""
    at = 0
    for match in UNSPACED.finditer(word):
        if match.start() > at:
            yield word[at : match.start()]
        yield match.group()
        at = match.end()
    if at < len(word):
        yield word[at:]


def _terms(found: Sequence[str]) -> set[str]:
    """Return the terms that the lines are listed by: words, and pairs of characters in scripts without spaces."""
    pairs = (f"{first}{second}" for first, second in pairwise(found))
    is_wide = UNSPACED.match
    return {each for each in found if not is_wide(each)} | {
        pair for pair in pairs if len(pair) == 2 and is_wide(pair[0]) and is_wide(pair[1])
    }


class NoteIndex:
    """All lines of an agent's notes, listed by their words."""

    def __init__(self, notes: Iterable[NoteText]) -> None:
        ordered = sorted(notes, key=lambda note: (note.path, note.lines or (0, 0), note.text))
        self.lines = [line for note in ordered for line in split_lines(note)]
        self._keys = [text_key(line.text) for line in self.lines]
        self._counts: dict[str, int] = defaultdict(int)
        self._postings: dict[str, list[int]] = defaultdict(list)
        for at, key in enumerate(self._keys):
            for term in _terms(key.split()):
                self._counts[term] += 1
                if len(self._postings[term]) < MAX_POSTINGS:
                    self._postings[term].append(at)

    def __repr__(self) -> str:
        return f"<NoteIndex: {len(self.lines)} lines, {len(self._counts)} terms>"

    def count(self, term: str) -> int:
        """Return how many lines have a word, or a pair of characters of a script without spaces."""
        return self._counts.get(term.casefold(), 0)

    def find(self, text: str) -> list[NoteLine]:
        """Return the lines that contain the words of a text in order; none if all its words are common."""
        found = tokens(text)
        terms = sorted(_terms(found), key=lambda term: (self._counts.get(term, 0), term))
        if not terms or not 0 < self._counts.get(terms[0], 0) < MAX_POSTINGS:
            return []
        key = f" {' '.join(found)} "
        return [self.lines[at] for at in self._postings[terms[0]] if key in self._keys[at]]

    def is_telling(self, word: str) -> bool:
        """Return whether a word says what a line is about: neither short, nor grammar, nor in many lines."""
        if len(word) < MIN_WORD_LETTERS or word.casefold() in STOP_WORDS:
            return False
        return 0 < self.count(word) <= max(5, len(self.lines) // 20)

    def rarity(self, run: str) -> float:
        """Return how many lines have a pair of characters in a script without spaces, on average; less is rarer."""
        found = tokens(run)
        pairs = [a + b for a, b in pairwise(found)]
        return sum(self.count(pair) for pair in pairs) / max(1, len(pairs))


def split_lines(note: NoteText) -> list[NoteLine]:
    """Return the lines of a note that have text."""
    raw = _COMMENT.sub(lambda match: "\n" * match.group().count("\n"), note.text).split("\n")
    levels = _levels(raw)
    starts = [at for at, level in enumerate(levels) if level]
    lines: list[NoteLine] = []
    for at, level in enumerate(levels):
        text = "" if level is None else clean(raw[at], level)
        if level is None or not tokens(text):
            continue
        first, last = _near(raw, levels, starts, at)
        following = ""
        if level:
            below = (clean(raw[next_at], 0) for next_at in range(at + 1, last + 1) if levels[next_at] == 0)
            following = next((each for each in below if tokens(each)), "")
        if note.lines is None:
            lines.append(NoteLine(note, at + 1, text, level, first + 1, last + 1, following))
        else:
            lines.append(NoteLine(note, note.lines[0], text, level, *note.lines, following))
    return lines


def clean(raw: str, level: int) -> str:
    """Return a line without Markdown's signs and addresses; `level` is that of a heading, or 0."""
    heading = _HEADING.match(raw)
    text = heading[2] if level and heading else _BULLET.sub("", _SPEAKER.sub("", raw))
    for pattern in (_LINK, _WIKI_LINK):
        text = pattern.sub(r"\1", text)
    return " ".join(_EMPHASIS.sub("", _ADDRESS.sub("", text)).split())


def _levels(raw: Sequence[str]) -> list[int | None]:
    """Return the level of each heading, 0 for text, None for front matter and the signs around code."""
    levels: list[int | None] = []
    is_code, in_front = False, bool(raw) and raw[0].strip() == "---"
    for at, line in enumerate(raw):
        if in_front:
            in_front = at == 0 or line.strip() not in ("---", "...")
            levels.append(None)
        elif _FENCE.match(line):
            is_code = not is_code
            levels.append(None)
        else:
            heading = None if is_code else _HEADING.match(line)
            levels.append(len(heading[1]) if heading else 0)
    return levels


def _near(
    raw: Sequence[str], levels: Sequence[int | None], starts: Sequence[int], at: int
) -> tuple[int, int]:
    """Return the first and last line around a line, within its section and `NEAR_CHARACTERS`.

    A heading's section includes the headings below it: a snippet may show those alone.
    """
    level, above = levels[at], bisect_right(starts, at)
    below = starts[above:] if level else starts[above : above + 1]
    end = next((start for start in below if not level or (levels[start] or 0) <= level), len(raw)) - 1
    start = at if level else (starts[above - 1] if above else 0)
    first = last = at
    used = 0
    while last < end and (used := used + len(raw[last + 1]) + 1) <= NEAR_CHARACTERS:
        last += 1
    used = 0
    while first > start and (used := used + len(raw[first - 1]) + 1) <= NEAR_CHARACTERS:
        first -= 1
    return first, last
