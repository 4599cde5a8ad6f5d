"""A note to passages: the chunks of our own cut.

A passage is a few lines that belong together. It is smaller than what is shown, so that its vector is of one subject;
what is shown of it grows by its neighbours' lines (`windows`). Sizes were chosen on an evaluation set; see
docs/ranking.md.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from memd.text.cut.chunking import Chunk, embedded_text, hash_text
from memd.text.tokens import WIDE_UNITS, has_wide, is_wide, weigh

PASSAGE_UNITS = 500
"""Largest passage, in units: 500 characters of English, 125 of Chinese."""

OVERLAP_UNITS = 150
"""How much of a passage the next one starts with at most, in whole lines; nothing across a heading."""

SECTION_UNITS = 200
"""A heading starts a new passage where the one before it has at least this; smaller sections go together."""

CONTEXT_CHARACTERS = 160
"""Longest context: it says where a passage stands and must not drown it."""

HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+")
"""Begins a line that is a heading."""

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；…])")
_WORD_GAP = re.compile(r"\s+")
_DAY = re.compile(r"\d{4}-\d{2}(?:-\d{2})?[-_ ]?")
_JOINTS = re.compile(r"[-_.\s]+")
_UNTELLING = frozenset({"memory", "readme", "index", "notes", "sessions", "user", ""})


class _Piece(NamedTuple):
    """A line, or a part of one too long: where it is, what it weighs, and the headings it stands under."""

    start: int
    end: int
    line: int
    units: int
    headings: tuple[str, ...]
    is_heading: bool
    is_blank: bool
    is_break: bool


def cut_passages(content: str, path: str, breaks: Collection[int] = ()) -> list[Chunk]:
    """Cut a note into passages."""
    pieces = list(_pieces(content, breaks))
    name = name_words(path)
    contexts: dict[tuple[str, ...], str] = {}
    chunks = []
    start = _skip_blank(pieces, 0)
    while start < len(pieces):
        end = _end_of(pieces, start)
        after = _skip_blank(pieces, end)
        headings = pieces[start].headings
        if headings not in contexts:
            contexts[headings] = _context(name, headings)
        chunks.append(_passage(content, pieces, start, after, contexts[headings]))
        start = _next_start(pieces, start, end, after)
    return chunks


def name_words(path: str) -> str:
    """Return what a file's path says about its text, in words: `projects ledger import`.

    Days, names that every memory has (`MEMORY.md`, `memory/`), and the names of transcripts, which are numbers, say
    nothing.
    """
    if path.endswith(".jsonl"):
        return ""
    parts = [*PurePosixPath(path).parts]
    if parts:
        parts[-1] = parts[-1].rsplit(".", 1)[0]
    words = [_JOINTS.sub(" ", _DAY.sub("", part)).strip() for part in parts[-3:]]
    telling = [word for word in words if any(letter.isalpha() for letter in word)]
    return " ".join(word for word in telling if word.lower() not in _UNTELLING)


def _pieces(content: str, breaks: Collection[int]) -> Iterator[_Piece]:
    """Yield the lines of a content, those too long in parts, each with the headings above it."""
    headings: list[tuple[int, str]] = []
    path: tuple[str, ...] = ()
    fence = ""
    start = 0
    for number, line in enumerate(content.split("\n"), start=1):
        mark = _FENCE.match(line) if "```" in line or "~~~" in line else None
        heading = HEADING.match(line) if "#" in line and not fence else None
        if fence:
            if mark is not None and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
        elif mark is not None:
            fence = mark[1]
        if heading is not None:
            depth = len(heading[1])
            headings = [above for above in headings if above[0] < depth]
            path = tuple(text for _, text in headings)
        for first, last in _parts(line):
            part = line[first:last]
            blank = not part or part.isspace()
            units = weigh(part) + 1
            at_break = first == 0 and number in breaks
            yield _Piece(
                start + first, start + last, number, units, path, heading is not None, blank, at_break
            )
        if heading is not None and (text := _heading_text(line[heading.end() :])):
            headings.append((len(heading[1]), text))
            path = (*path, text)
        start += len(line) + 1


def _heading_text(rest: str) -> str:
    """Return what a heading says: the rest of its line without the marks that may close it; `C#` keeps its own."""
    text = rest.strip(" \t")
    bare = text.rstrip("#")
    return bare.rstrip(" \t") if bare == "" or bare[-1] in " \t" else text


def _parts(line: str) -> list[tuple[int, int]]:
    """Return a line whole, or cut at sentences, words, or anywhere, where it weighs too much for one passage."""
    if len(line) * WIDE_UNITS <= PASSAGE_UNITS or weigh(line) <= PASSAGE_UNITS:
        return [(0, len(line))]
    parts = []
    start = 0
    while start < len(line):
        end = _fitting(line, start)
        if end < len(line):
            end = _cut_before(line, start, end)
        parts.append((start, end))
        start = end
    return parts


def _fitting(line: str, start: int) -> int:
    """Return how far a part from `start` on may reach."""
    if not has_wide(line[start : start + PASSAGE_UNITS]):
        return min(len(line), start + PASSAGE_UNITS)
    units, end = 0, start
    while end < len(line):
        units += WIDE_UNITS if is_wide(line[end]) else 1
        if units > PASSAGE_UNITS:
            break
        end += 1
    return end


def _cut_before(line: str, start: int, end: int) -> int:
    """Return the best place to cut at or before `end`: behind a sentence, else behind a word, else there."""
    middle = start + (end - start) // 2
    for pattern in (_SENTENCE, _WORD_GAP):
        places = [match.end() for match in pattern.finditer(line, middle, end)]
        if places:
            return places[-1]
    return end


def _end_of(pieces: list[_Piece], start: int) -> int:
    """Return behind which piece the passage from `start` ends."""
    units, end = 0, start
    while end < len(pieces) and (end == start or units + pieces[end].units - 1 <= PASSAGE_UNITS):
        if end > start and pieces[end].is_break:
            return end
        if pieces[end].is_heading and units >= SECTION_UNITS:
            break
        units += pieces[end].units
        end += 1
    last = end
    # No heading is left behind by what it stands above.
    while end < len(pieces) and last > start and (pieces[last - 1].is_heading or pieces[last - 1].is_blank):
        last -= 1
    return last if last > start and any(not pieces[at].is_heading for at in range(start, last)) else end


def _next_start(pieces: list[_Piece], start: int, end: int, after: int) -> int:
    """Return where the next passage starts: some lines before the end, unless a section starts there."""
    if after >= len(pieces) or any(
        pieces[at].is_heading or pieces[at].is_break for at in range(end, after + 1)
    ):
        return after
    units, again = 0, after
    while again - 1 > start and not pieces[again - 1].is_heading:
        units += pieces[again - 1].units
        if units > OVERLAP_UNITS:
            break
        again -= 1
    again = _skip_blank(pieces, again)
    # An overlap that leaves no room for the next line would only repeat itself.
    repeated = sum(piece.units for piece in pieces[again:after])
    return again if repeated + pieces[after].units - 1 <= PASSAGE_UNITS else after


def _skip_blank(pieces: list[_Piece], at: int) -> int:
    """Return the first piece from `at` on that holds a word."""
    while at < len(pieces) and pieces[at].is_blank:
        at += 1
    return at


def _passage(content: str, pieces: list[_Piece], start: int, after: int, context: str) -> Chunk:
    """Return the passage of pieces `start` up to `after`, which stands in `context`."""
    first, last = pieces[start], pieces[after - 1]
    text = content[first.start : last.end]
    shown = after - 1
    while shown > start and pieces[shown].is_blank:
        shown -= 1
    hashed = hash_text(embedded_text(text.rstrip(), context))
    return Chunk(first.line, pieces[shown].line, text, hashed, first.start, context)


def _context(name: str, headings: tuple[str, ...]) -> str:
    """Return where a passage stands, `name > heading > heading`, without what says nothing or says it twice."""
    parts: list[str] = []
    for part in (name, *headings):
        telling = _DAY.sub("", part).strip()
        if telling and telling.lower() not in (each.lower() for each in parts):
            parts.append(telling)
    return " > ".join(parts)[-CONTEXT_CHARACTERS:]
