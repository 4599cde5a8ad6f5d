"""Chunking of notes, in two schemes.

`cut_chunks` is the default: a chunk is a few related lines. It is smaller than a snippet, so that its vector has one
subject; the snippet adds the surrounding lines (`windows`). benchmarks/NOTES.md explains the sizes.
`chunk_text` follows OpenClaw: lines up to a size, each chunk starting with the last lines of the previous one. It is
used if chunk sizes are configured, and for an index with vectors of OpenClaw, which stay valid. It differs in two
ways: wide characters count as a whole token, and a chunk is an exact slice of the content.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import accumulate
from pathlib import PurePosixPath

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memd.text.tokens import UNITS_PER_TOKEN, WIDE_UNITS, count_units, has_wide, is_wide

MIN_CHUNK_UNITS = 32
"""Smallest chunk size in units, regardless of settings: OpenClaw's minimum."""

LINE_END_UNITS = 1
"""Units of a line end, or of the end of a line part."""


class Chunk(Struct, frozen=True):
    """A run of lines: the unit that is searched and embedded.

    `start_line` and `end_line` count from 1, both inclusive. `text` is an exact slice of the content, from its
    character `start` on. `context` is the location of the text (`deploy runbook > Rollback`): embedded with it, never
    shown for it. `hash` (SHA-256, hex) differs between texts with different vectors: `chunk_text` hashes the text, with
    a line end between the parts of a long line.
    """

    start_line: int
    end_line: int
    text: str
    hash: str
    start: int = 0
    context: str = ""


class _LineParts(Struct, frozen=True):
    """The lines of a content, long ones split; four lists of the same length."""

    texts: list[str]
    lines: list[int] | range
    offsets: list[int]
    weights: list[int]


def chunk_text(content: str, tokens: int, overlap: int) -> list[Chunk]:
    """Return the chunks of a content in OpenClaw's scheme."""
    most = max(MIN_CHUNK_UNITS, tokens * UNITS_PER_TOKEN)
    carried = max(0, overlap * UNITS_PER_TOKEN)
    wide = has_wide(content)
    parts = _cut_lines(content, most, wide)
    # The units of parts i up to j, each with its line end, are ends[j] - ends[i].
    ends = list(accumulate(parts.weights, lambda total, weight: total + weight + LINE_END_UNITS, initial=0))
    count = len(parts.texts)
    chunks: list[Chunk] = []
    start = fresh = 0
    while fresh < count:
        # A new part is added regardless of the overlap, or a chunk could stay the same forever.
        end = max(fresh + 1, bisect_right(ends, ends[start] + most) - 1)
        chunks.append(_join(content, parts, start, end))
        start = max(start, bisect_right(ends, ends[end] - carried) - 1) if carried else end
        if wide and end < count:
            start = _fit_wide(parts, ends, start, end, most)
        fresh = end
    return chunks


def chunk_text_at_breaks(content: str, tokens: int, overlap: int, breaks: Collection[int]) -> list[Chunk]:
    """Return chunks as `chunk_text` does, without a chunk across a line in `breaks`."""
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


def _cut_lines(content: str, most: int, wide: bool) -> _LineParts:
    """Return the lines of a content, split if they have more than `most` units."""
    lines = content.split("\n")
    weights = [count_units(line) for line in lines] if wide else list(map(len, lines))
    if max(weights) <= most:
        offsets = list(accumulate(lines[:-1], lambda offset, line: offset + len(line) + 1, initial=0))
        return _LineParts(lines, range(1, len(lines) + 1), offsets, weights)
    parts = _LineParts([], [], [], [])
    numbers: list[int] = []
    offset = 0
    for number, (line, weight) in enumerate(zip(lines, weights, strict=True), start=1):
        for cut in [line] if weight <= most else _split_line(line, most):
            parts.texts.append(cut)
            parts.offsets.append(offset)
            parts.weights.append(count_units(cut) if wide else len(cut))
            numbers.append(number)
            offset += len(cut)
        offset += 1
    return _LineParts(parts.texts, numbers, parts.offsets, parts.weights)


def _split_line(line: str, most: int) -> list[str]:
    """Return the parts of one line, each of at most `most` units."""
    if not has_wide(line):
        return [line[start : start + most] for start in range(0, len(line), most)]
    ends = list(accumulate((WIDE_UNITS if is_wide(character) else 1 for character in line), initial=0))
    parts = []
    start = 0
    while start < len(line):
        end = bisect_right(ends, ends[start] + most) - 1
        parts.append(line[start:end])
        start = end
    return parts


def _fit_wide(parts: _LineParts, ends: list[int], start: int, end: int, most: int) -> int:
    """Return the start of the next chunk so that wide text stays within `most`, reducing the overlap."""
    while (
        start < end
        and ends[end + 1] - ends[start] > most
        and any(map(has_wide, parts.texts[start : end + 1]))
    ):
        start += 1
    return start


def _join(content: str, parts: _LineParts, start: int, end: int) -> Chunk:
    """Return the chunk of parts `start` up to `end`."""
    last = end - 1
    text = content[parts.offsets[start] : parts.offsets[last] + len(parts.texts[last])]
    hashed = "\n".join(parts.texts[start:end])
    return Chunk(parts.lines[start], parts.lines[last], text, hash_text(hashed), parts.offsets[start])


def embedded_text(text: str, context: str) -> str:
    """Return the text that is embedded for a chunk: its context and its text."""
    return f"{context}\n{text}" if context else text


def hash_text(text: str) -> str:
    """Return the SHA-256 of a text as hex; a lone surrogate counts as U+FFFD, as in OpenClaw."""
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        data = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode("utf-8")
    return hashlib.sha256(data).hexdigest()


MAX_CHUNK_UNITS = 500
"""Largest chunk in units: 500 characters of English, 125 of Chinese."""

MAX_OVERLAP_UNITS = 150
"""Largest overlap with the previous chunk, in whole lines; none across a heading."""

MIN_SECTION_UNITS = 200
"""A heading starts a new chunk if the current one has at least this; smaller sections share one."""

MAX_CONTEXT_CHARACTERS = 160
"""Longest context, so that it does not outweigh the text."""

CONTEXT_GAP = " > "
"""Between the parts of a context."""

BLOCK_CHARACTERS = 100_000
"""Characters that are split into lines at once, in a few milliseconds."""

HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+")
"""Start of a heading line."""

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；…])")
_WORD_GAP = re.compile(r"\s+")
_DAY = re.compile(r"\d{4}-\d{2}(?:-\d{2})?[-_ ]?")
_JOINTS = re.compile(r"[-_.\s]+")
_UNTELLING = frozenset({"memory", "readme", "index", "notes", "sessions", "user", ""})


class _LinePart(msgspec.Struct, gc=False):
    """A line, or a part of a long one: its span, its units, and the headings above it.

    A msgspec struct, because a note may have millions of lines, and the garbage collector would stop all threads while
    it visits them.
    """

    start: int
    end: int
    line: int
    units: int
    headings: tuple[str, ...]
    is_heading: bool
    is_blank: bool
    is_break: bool


def cut_chunks(content: str, path: str, breaks: Collection[int] = ()) -> list[Chunk]:
    """Return the chunks of a note in the default scheme."""
    parts = list(_line_parts(content, breaks))
    name = path_words(path)
    contexts: dict[tuple[str, ...], str] = {}
    chunks = []
    start = _skip_blank(parts, 0)
    while start < len(parts):
        end = _end_of(parts, start)
        after = _skip_blank(parts, end)
        headings = parts[start].headings
        if headings not in contexts:
            contexts[headings] = _context(name, headings)
        chunks.append(_chunk(content, parts, start, after, contexts[headings]))
        start = _next_start(parts, start, end, after)
    while parts:
        del parts[-BLOCK_CHARACTERS:]  # freeing millions at once would stop all threads
    return chunks


@lru_cache(maxsize=4_096)
def path_words(path: str) -> str:
    """Return the words in a file's path that describe its text: `projects ledger import`.

    Dates, common names (`MEMORY.md`, `memory/`) and transcript names, which are numbers, are left out.
    """
    if path.endswith(".jsonl"):
        return ""
    parts = [*PurePosixPath(path).parts]
    if parts:
        parts[-1] = parts[-1].rsplit(".", 1)[0]
    words = [_JOINTS.sub(" ", _DAY.sub("", part)).strip() for part in parts[-3:]]
    telling = [word for word in words if any(letter.isalpha() for letter in word)]
    return " ".join(word for word in telling if word.lower() not in _UNTELLING)


def headings_above(text: str, place: int, context: str, path: str) -> str:
    """Return the headings above a place in a chunk, as `Deploy > Rollback`, without dates; empty below none.

    Args:
        text: The chunk.
        place: Characters before the place; 0 or less at its start or in the lines above it.
        context: The chunk's context, which has the headings above its start.
        path: The path of its file, whose words begin the context.
    """
    outer = context.removeprefix(path_words(path)).removeprefix(CONTEXT_GAP)
    if len(context) == MAX_CONTEXT_CHARACTERS:
        outer = context.partition(CONTEXT_GAP)[2]  # cut off at its start
    if place <= 0 or "#" not in text[:place]:
        return outer
    inner = [*_line_parts(text[:place], ())][-1].headings
    if not inner:
        return outer
    return _context(outer if HEADING.match(text) else "", inner)


def _line_parts(content: str, breaks: Collection[int]) -> Iterator[_LinePart]:
    """Yield the lines of a content, long ones split, each with the headings above it."""
    headings: list[tuple[int, str]] = []
    path: tuple[str, ...] = ()
    fence = ""
    start = 0
    for number, line in enumerate(_lines(content), start=1):
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
        for first, last in _split_long_line(line):
            part = line[first:last]
            blank = not part or part.isspace()
            units = count_units(part) + 1
            at_break = first == 0 and number in breaks
            yield _LinePart(
                start + first, start + last, number, units, path, heading is not None, blank, at_break
            )
        if heading is not None and (text := _heading_text(line[heading.end() :])):
            headings.append((len(heading[1]), text))
            path = (*path, text)
        start += len(line) + 1


def _lines(content: str) -> Iterator[str]:
    """Yield the lines of a content as `split` does, but in blocks: one call on millions of lines stops all threads."""
    start = 0
    while (end := content.find("\n", start + BLOCK_CHARACTERS)) >= 0:
        yield from content[start:end].split("\n")
        start = end + 1
    yield from content[start:].split("\n")


def _heading_text(rest: str) -> str:
    """Return the text of a heading without closing `#` marks; `C#` keeps its own."""
    text = rest.strip(" \t")
    bare = text.rstrip("#")
    return bare.rstrip(" \t") if bare == "" or bare[-1] in " \t" else text


def _split_long_line(line: str) -> list[tuple[int, int]]:
    """Return the spans of a line, split at sentences, words or anywhere if it exceeds one chunk."""
    if len(line) * WIDE_UNITS <= MAX_CHUNK_UNITS or count_units(line) <= MAX_CHUNK_UNITS:
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
    if not has_wide(line[start : start + MAX_CHUNK_UNITS]):
        return min(len(line), start + MAX_CHUNK_UNITS)
    units, end = 0, start
    while end < len(line):
        units += WIDE_UNITS if is_wide(line[end]) else 1
        if units > MAX_CHUNK_UNITS:
            break
        end += 1
    return end


def _cut_before(line: str, start: int, end: int) -> int:
    """Return the best place to cut at or before `end`: after a sentence, after a word, or at `end`."""
    middle = start + (end - start) // 2
    for pattern in (_SENTENCE, _WORD_GAP):
        places = [match.end() for match in pattern.finditer(line, middle, end)]
        if places:
            return places[-1]
    return end


def _end_of(parts: list[_LinePart], start: int) -> int:
    """Return the index after the last part of the chunk that begins at `start`."""
    units, end = 0, start
    while end < len(parts) and (end == start or units + parts[end].units - 1 <= MAX_CHUNK_UNITS):
        if end > start and parts[end].is_break:
            return end
        if parts[end].is_heading and units >= MIN_SECTION_UNITS:
            break
        units += parts[end].units
        end += 1
    last = end
    # A heading stays with the text below it.
    while end < len(parts) and last > start and (parts[last - 1].is_heading or parts[last - 1].is_blank):
        last -= 1
    return last if last > start and any(not parts[at].is_heading for at in range(start, last)) else end


def _next_start(parts: list[_LinePart], start: int, end: int, after: int) -> int:
    """Return the start of the next chunk: some lines before the end, unless a section starts there."""
    if after >= len(parts) or any(parts[at].is_heading or parts[at].is_break for at in range(end, after + 1)):
        return after
    units, again = 0, after
    while again - 1 > start and not parts[again - 1].is_heading:
        units += parts[again - 1].units
        if units > MAX_OVERLAP_UNITS:
            break
        again -= 1
    again = _skip_blank(parts, again)
    # Without space for the next line, the overlap would be a chunk of repeated text.
    repeated = sum(part.units for part in parts[again:after])
    return again if repeated + parts[after].units - 1 <= MAX_CHUNK_UNITS else after


def _skip_blank(parts: list[_LinePart], at: int) -> int:
    """Return the first part from `at` on that is not blank."""
    while at < len(parts) and parts[at].is_blank:
        at += 1
    return at


def _chunk(content: str, parts: list[_LinePart], start: int, after: int, context: str) -> Chunk:
    """Return the chunk of parts `start` up to `after`."""
    first, last = parts[start], parts[after - 1]
    text = content[first.start : last.end]
    shown = after - 1
    while shown > start and parts[shown].is_blank:
        shown -= 1
    hashed = hash_text(embedded_text(text.rstrip(), context))
    return Chunk(first.line, parts[shown].line, text, hashed, first.start, context)


def _context(name: str, headings: tuple[str, ...]) -> str:
    """Return a chunk's context, `name > heading > heading`, without dates and repetitions."""
    parts: list[str] = []
    for part in (name, *headings):
        telling = _DAY.sub("", part).strip()
        if telling and telling.lower() not in (each.lower() for each in parts):
            parts.append(telling)
    return CONTEXT_GAP.join(parts)[-MAX_CONTEXT_CHARACTERS:]
