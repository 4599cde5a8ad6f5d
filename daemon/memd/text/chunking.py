"""Lines to chunks with line ranges. Sizes follow OpenClaw's rule, so that its indexes can be adopted."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from memd.text.tokens import UNITS_PER_TOKEN, count_units, has_wide, is_wide

SMALLEST_CHUNK_UNITS = 32
"""Smaller settings count as this, as in OpenClaw."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A slice of a text.

    Attributes:
        start_line: First line, from 1.
        end_line: Last line, inclusive.
        text: An exact, contiguous slice of the text.
        hash: SHA-256 (hex) of the chunk's pieces joined by newlines. It differs from the hash of `text` only
            where a line was too long for one chunk: OpenClaw hashes the pieces of such a line as lines.
    """

    start_line: int
    end_line: int
    text: str
    hash: str


@dataclass(frozen=True, slots=True)
class _Piece:
    """A line, or a part of one that was too long."""

    line: int
    text: str
    units: int
    opens_line: bool


def chunk_text(content: str, tokens: int, overlap: int) -> list[Chunk]:
    """Return a text's chunks.

    Args:
        content: The whole text; lines end with a newline character (a carriage return stays in its line).
        tokens: Size of a chunk.
        overlap: What a chunk repeats of the one before, in whole lines.

    Returns:
        Chunks in order; one, empty, for an empty text. Every line is in one of them.
    """
    most = max(SMALLEST_CHUNK_UNITS, tokens * UNITS_PER_TOKEN)
    shared = max(0, overlap * UNITS_PER_TOKEN)
    chunks: list[Chunk] = []
    current: list[_Piece] = []
    size = 0
    wide = has_wide(content)
    for piece in _pieces(content, most, wide):
        if current and size + piece.units + 1 > most:
            chunks.append(_close(current))
            current = _carry(current, shared)
            size = sum(kept.units + 1 for kept in current)
            while (
                wide and current and size + piece.units + 1 > most
            ):  # alphabets: as OpenClaw, which lets it be
                size -= current.pop(0).units + 1
        current.append(piece)
        size += piece.units + 1
    if current:
        chunks.append(_close(current))
    return chunks


def _pieces(content: str, most: int, wide: bool) -> Iterator[_Piece]:
    """Yield lines, those longer than a chunk in parts."""
    for number, line in enumerate(content.split("\n"), start=1):
        if not wide:
            if len(line) <= most:
                yield _Piece(number, line, len(line), True)
                continue
            for start in range(0, len(line), most):
                part = line[start : start + most]
                yield _Piece(number, part, len(part), start == 0)
            continue
        units = count_units(line)
        if units <= most:
            yield _Piece(number, line, units, True)
            continue
        yield from _parts(number, line, most)


def _parts(number: int, line: str, most: int) -> Iterator[_Piece]:
    """Yield the parts of a line with wide characters, each at most `most` units."""
    start = size = 0
    for at, char in enumerate(line):
        cost = UNITS_PER_TOKEN if is_wide(char) else 1
        if size + cost > most:
            yield _Piece(number, line[start:at], size, start == 0)
            start, size = at, 0
        size += cost
    yield _Piece(number, line[start:], size, start == 0)


def _carry(pieces: list[_Piece], shared: int) -> list[_Piece]:
    """Return the last lines of a chunk that the next one repeats."""
    if shared <= 0:
        return []
    kept: list[_Piece] = []
    size = 0
    for piece in reversed(pieces):
        kept.append(piece)
        size += piece.units + 1
        if size >= shared:
            break
    return kept[::-1]


def _close(pieces: list[_Piece]) -> Chunk:
    """Return the chunk of some pieces."""
    joined = "\n".join(piece.text for piece in pieces)
    exact = joined
    if not all(piece.opens_line for piece in pieces[1:]):
        exact = pieces[0].text + "".join(
            f"\n{piece.text}" if piece.opens_line else piece.text for piece in pieces[1:]
        )
    digest = hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()
    return Chunk(pieces[0].line, pieces[-1].line, exact, digest)
