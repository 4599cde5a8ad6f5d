"""Notes to chunks, in two schemes.

`cut_chunks` is the default: a chunk is a few lines that belong together. It is smaller than what is shown, so that its
vector has one subject; a hit grows by the lines around it (`windows`). docs/ranking.md has how the sizes were chosen.
`chunk_text` cuts as the reference does: lines up to a size, each chunk starting with the last lines of the one before.
It is used if chunk sizes are configured, and for an index the reference wrote, which then needs no new vectors. Two
things differ from the reference: wide characters weigh a whole token, and a chunk is an exact slice of the content.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import PurePosixPath
from typing import NamedTuple

from memd.text.tokens import UNITS_PER_TOKEN, WIDE_UNITS, has_wide, is_wide, weigh

LEAST_UNITS = 32
"""Smallest chunk size in units, whatever the settings say: the reference's floor."""

LINE_END_UNITS = 1
"""What the end of a line, or of a piece of a line, costs in units."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A run of lines: what is searched and embedded as one.

    `start_line` and `end_line` count from 1, both inclusive. `text` is an exact slice of the content, from its
    character `start` on. `context` says where the text stands (`deploy runbook > Rollback`); it is embedded with
    the text, never shown in its place. `hash` (SHA-256, hex) tells texts with different vectors apart: here it is of
    the text, with a line end between the pieces of a line that was too long.
    """

    start_line: int
    end_line: int
    text: str
    hash: str
    start: int = 0
    context: str = ""


@dataclass(frozen=True, slots=True)
class _Lines:
    """A content's lines, those too long cut up; four lists of one length."""

    texts: list[str]
    lines: list[int] | range
    offsets: list[int]
    weights: list[int]


def chunk_text(content: str, tokens: int, overlap: int) -> list[Chunk]:
    """Cut a content into chunks."""
    most = max(LEAST_UNITS, tokens * UNITS_PER_TOKEN)
    carried = max(0, overlap * UNITS_PER_TOKEN)
    wide = has_wide(content)
    pieces = _cut_lines(content, most, wide)
    # The weight of pieces i up to j, each with its line end, is ends[j] - ends[i].
    ends = list(accumulate(pieces.weights, lambda total, weight: total + weight + LINE_END_UNITS, initial=0))
    count = len(pieces.texts)
    chunks: list[Chunk] = []
    start = fresh = 0
    while fresh < count:
        # A piece that is new goes in however much was carried over, else a chunk could stay the same forever.
        end = max(fresh + 1, bisect_right(ends, ends[start] + most) - 1)
        chunks.append(_join(content, pieces, start, end))
        start = max(start, bisect_right(ends, ends[end] - carried) - 1) if carried else end
        if wide and end < count:
            start = _fit_wide(pieces, ends, start, end, most)
        fresh = end
    return chunks


def chunk_between(content: str, tokens: int, overlap: int, breaks: Collection[int]) -> list[Chunk]:
    """Cut a content into chunks, as `chunk_text` does, none of which goes across some lines."""
    lines = content.split("\n")
    inner = sorted(line for line in breaks if 1 < line <= len(lines))
    if not inner:
        return chunk_text(content, tokens, overlap)
    chunks: list[Chunk] = []
    start = 0
    for first, end in zip([1, *inner], [*inner, len(lines) + 1], strict=True):
        part = "\n".join(lines[first - 1 : end - 1])
        for chunk in chunk_text(part, tokens, overlap):
            if chunk.text.strip():
                chunks.append(_moved(chunk, first - 1, start))
        start += len(part) + 1
    return chunks


def _moved(chunk: Chunk, lines: int, characters: int) -> Chunk:
    return replace(
        chunk,
        start_line=chunk.start_line + lines,
        end_line=chunk.end_line + lines,
        start=chunk.start + characters,
    )


def _cut_lines(content: str, most: int, wide: bool) -> _Lines:
    """Return the lines of a content, cut where one weighs more than `most` units."""
    lines = content.split("\n")
    weights = [weigh(line) for line in lines] if wide else list(map(len, lines))
    if max(weights) <= most:
        offsets = list(accumulate(lines[:-1], lambda offset, line: offset + len(line) + 1, initial=0))
        return _Lines(lines, range(1, len(lines) + 1), offsets, weights)
    pieces = _Lines([], [], [], [])
    numbers: list[int] = []
    offset = 0
    for number, (line, weight) in enumerate(zip(lines, weights, strict=True), start=1):
        for cut in [line] if weight <= most else _split_line(line, most):
            pieces.texts.append(cut)
            pieces.offsets.append(offset)
            pieces.weights.append(weigh(cut) if wide else len(cut))
            numbers.append(number)
            offset += len(cut)
        offset += 1
    return _Lines(pieces.texts, numbers, pieces.offsets, pieces.weights)


def _split_line(line: str, most: int) -> list[str]:
    """Return the pieces of one line, each as heavy as fits into `most` units."""
    if not has_wide(line):
        return [line[start : start + most] for start in range(0, len(line), most)]
    ends = list(accumulate((WIDE_UNITS if is_wide(character) else 1 for character in line), initial=0))
    pieces = []
    start = 0
    while start < len(line):
        end = bisect_right(ends, ends[start] + most) - 1
        pieces.append(line[start:end])
        start = end
    return pieces


def _fit_wide(pieces: _Lines, ends: list[int], start: int, end: int, most: int) -> int:
    """Return where the next chunk starts so that wide text stays within `most`: overlap gives way."""
    while (
        start < end
        and ends[end + 1] - ends[start] > most
        and any(map(has_wide, pieces.texts[start : end + 1]))
    ):
        start += 1
    return start


def _join(content: str, pieces: _Lines, start: int, end: int) -> Chunk:
    """Return the chunk of pieces `start` up to `end`."""
    last = end - 1
    text = content[pieces.offsets[start] : pieces.offsets[last] + len(pieces.texts[last])]
    hashed = "\n".join(pieces.texts[start:end])
    return Chunk(pieces.lines[start], pieces.lines[last], text, hash_text(hashed), pieces.offsets[start])


def embedded_text(text: str, context: str) -> str:
    """Return what is embedded for a chunk: its text, behind where it stands."""
    return f"{context}\n{text}" if context else text


def hash_text(text: str) -> str:
    """Return the SHA-256 of a text as hex; a lone surrogate counts as U+FFFD, as it does in the reference."""
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        data = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode("utf-8")
    return hashlib.sha256(data).hexdigest()


CHUNK_UNITS = 500
"""Largest chunk, in units: 500 characters of English, 125 of Chinese."""

OVERLAP_UNITS = 150
"""How much of a chunk the next one starts with at most, in whole lines; nothing across a heading."""

SECTION_UNITS = 200
"""A heading starts a new chunk if the one before it has at least this; smaller sections go together."""

CONTEXT_CHARACTERS = 160
"""Longest context: it says where a chunk stands and must not drown it."""

HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+")
"""Begins a line that is a heading."""

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；…])")
_WORD_GAP = re.compile(r"\s+")
_DAY = re.compile(r"\d{4}-\d{2}(?:-\d{2})?[-_ ]?")
_JOINTS = re.compile(r"[-_.\s]+")
_UNTELLING = frozenset({"memory", "readme", "index", "notes", "sessions", "user", ""})


class _Piece(NamedTuple):
    """A line, or a part of one too long: its place, its weight, and the headings above it."""

    start: int
    end: int
    line: int
    units: int
    headings: tuple[str, ...]
    is_heading: bool
    is_blank: bool
    is_break: bool


def cut_chunks(content: str, path: str, breaks: Collection[int] = ()) -> list[Chunk]:
    """Cut a note into chunks."""
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
        chunks.append(_chunk(content, pieces, start, after, contexts[headings]))
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
    """Return a line whole, or cut at sentences, words, or anywhere, if it weighs too much for one chunk."""
    if len(line) * WIDE_UNITS <= CHUNK_UNITS or weigh(line) <= CHUNK_UNITS:
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
    if not has_wide(line[start : start + CHUNK_UNITS]):
        return min(len(line), start + CHUNK_UNITS)
    units, end = 0, start
    while end < len(line):
        units += WIDE_UNITS if is_wide(line[end]) else 1
        if units > CHUNK_UNITS:
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
    """Return behind which piece the chunk from `start` ends."""
    units, end = 0, start
    while end < len(pieces) and (end == start or units + pieces[end].units - 1 <= CHUNK_UNITS):
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
    """Return where the next chunk starts: some lines before the end, unless a section starts there."""
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
    return again if repeated + pieces[after].units - 1 <= CHUNK_UNITS else after


def _skip_blank(pieces: list[_Piece], at: int) -> int:
    """Return the first piece from `at` on that holds a word."""
    while at < len(pieces) and pieces[at].is_blank:
        at += 1
    return at


def _chunk(content: str, pieces: list[_Piece], start: int, after: int, context: str) -> Chunk:
    """Return the chunk of pieces `start` up to `after`, which stands in `context`."""
    first, last = pieces[start], pieces[after - 1]
    text = content[first.start : last.end]
    shown = after - 1
    while shown > start and pieces[shown].is_blank:
        shown -= 1
    hashed = hash_text(embedded_text(text.rstrip(), context))
    return Chunk(first.line, pieces[shown].line, text, hashed, first.start, context)


def _context(name: str, headings: tuple[str, ...]) -> str:
    """Return where a chunk stands, `name > heading > heading`, without what says nothing or says it twice."""
    parts: list[str] = []
    for part in (name, *headings):
        telling = _DAY.sub("", part).strip()
        if telling and telling.lower() not in (each.lower() for each in parts):
            parts.append(telling)
    return " > ".join(parts)[-CONTEXT_CHARACTERS:]
