"""Lines to chunks as the reference cuts them: lines up to a size, each chunk starting with the last of the one before.

Used where chunk sizes are configured, and where an index written by the reference was adopted: it needs nothing
embedded again. `passages` is our own cut. Two things are ours here: wide characters weigh a whole token, and a
chunk's text is always an exact slice of the content.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import accumulate

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
class _Pieces:
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
    """Return a chunk that is so many lines and characters further down."""
    return replace(
        chunk,
        start_line=chunk.start_line + lines,
        end_line=chunk.end_line + lines,
        start=chunk.start + characters,
    )


def _cut_lines(content: str, most: int, wide: bool) -> _Pieces:
    """Return the lines of a content, cut where one weighs more than `most` units."""
    lines = content.split("\n")
    weights = [weigh(line) for line in lines] if wide else list(map(len, lines))
    if max(weights) <= most:
        offsets = list(accumulate(lines[:-1], lambda offset, line: offset + len(line) + 1, initial=0))
        return _Pieces(lines, range(1, len(lines) + 1), offsets, weights)
    pieces = _Pieces([], [], [], [])
    numbers: list[int] = []
    offset = 0
    for number, (line, weight) in enumerate(zip(lines, weights, strict=True), start=1):
        for cut in [line] if weight <= most else _cut_line(line, most):
            pieces.texts.append(cut)
            pieces.offsets.append(offset)
            pieces.weights.append(weigh(cut) if wide else len(cut))
            numbers.append(number)
            offset += len(cut)
        offset += 1
    return _Pieces(pieces.texts, numbers, pieces.offsets, pieces.weights)


def _cut_line(line: str, most: int) -> list[str]:
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


def _fit_wide(pieces: _Pieces, ends: list[int], start: int, end: int, most: int) -> int:
    """Return where the next chunk starts so that wide text stays within `most`: overlap gives way."""
    while (
        start < end
        and ends[end + 1] - ends[start] > most
        and any(map(has_wide, pieces.texts[start : end + 1]))
    ):
        start += 1
    return start


def _join(content: str, pieces: _Pieces, start: int, end: int) -> Chunk:
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
