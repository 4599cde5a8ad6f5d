"""Units of a text that a snippet shows whole: list items, sentences of wrapped paragraphs, and other lines.

A line that isn't wrapped is one unit, such as a message or a row of a table. Wrapped lines are joined: a list item with
its continuation is one unit, a paragraph has a unit for each sentence, and so has a line that is too long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

from memd.text.cut.chunking import HEADING

Span: TypeAlias = tuple[int, int]
"""Start and end of a part of a text, in characters, the end excluded."""

MAX_WHOLE_CHARACTERS = 400
"""Longest line or list item that is one unit; a longer one has a unit for each sentence."""

MIN_WRAPPED_CHARACTERS = 50
"""Shortest line that may continue in the next one: a shorter line ends on purpose."""

_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]")
_OPENING = re.compile(
    r"[ \t]*(?:[-*+•|>]|\d{1,3}[.)][ \t]|#{1,6}[ \t]|```|~~~|<!--|(?![a-zß-ÿ])[^\W_][^:\n]{0,40}:\s)"
)
"""Start of a line that doesn't continue the line above: an item, a row, a quote, a heading, a fence, a label."""

_CONTINUATION = re.compile(r"[ \t]*[\w\"'“„«(\[*_`]")
_UNFINISHED = re.compile(r"[\w,;)\]\"'”*_`/–—-]")
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’»)\]*_`]*(?=\s+[^\sa-zß-ÿ])|[。！？]+[」』”）]*")
_ABBREVIATION = re.compile(r"(?:\A|[\W_])(?:[^\W_]|[A-Z][a-z]{1,2}|\d\d)\.\Z")
"""A dot after a letter, a number or a short title (`Dr.`) doesn't end a sentence."""


def starts_unit(text: str) -> bool:
    """Return whether the first line of a text surely starts a unit, whatever is above it."""
    return _OPENING.match(text) is not None


def ends_unit(text: str) -> bool:
    """Return whether a text surely ends with a unit, whatever is below it."""
    return text[-1:] in ".!?…。！？" or len(text) - text.rfind("\n") <= MIN_WRAPPED_CHARACTERS


def units_of(text: str, start: int = 0) -> Iterator[Span]:
    """Yield the units from the start of a line on, without blank lines."""
    block: Span | None = _block_from(text, start)
    while block is not None:
        yield from _units_in(text, block)
        block = _block_from(text, block[1] + 1)


def unit_at(text: str, at: int) -> Span:
    """Return the unit that has the character `at`; the gap between two sentences belongs to the second one."""
    block = _block_around(text, at)
    for unit in _units_in(text, block):
        if at < unit[1]:
            return unit
    return block


def unit_above(text: str, at: int) -> Span | None:
    """Return the last unit that ends before the start of another; None at the start of a text."""
    last = len(text[:at].rstrip()) - 1
    return unit_at(text, last) if last >= 0 else None


def unit_below(text: str, at: int) -> Span | None:
    """Return the first unit that starts after the end of another; None at the end of a text."""
    while at < len(text) and text[at].isspace():
        at += 1
    return unit_at(text, at) if at < len(text) else None


def _units_in(text: str, block: Span) -> Iterator[Span]:
    """Yield a block as one unit, or its sentences."""
    start, end = block
    if end - start <= MAX_WHOLE_CHARACTERS and (text.find("\n", start, end) < 0 or _ITEM.match(text, start)):
        yield block
        return
    for found in _SENTENCE_END.finditer(text, start, end):
        stop = found.end()
        if stop < end and _ABBREVIATION.search(text[max(start, stop - 4) : stop]) is None:
            yield start, stop
            start = stop
            while text[start].isspace():
                start += 1
    yield start, end


def _line_at(text: str, at: int) -> Span:
    end = text.find("\n", at)
    return text.rfind("\n", 0, at) + 1, len(text) if end < 0 else end


def _block_from(text: str, start: int) -> Span | None:
    """Return the lines that belong together from the first line that isn't blank."""
    while start < len(text):
        line = _line_at(text, start)
        if text[start : line[1]].strip():
            return line[0], _end_of_block(text, line)
        start = line[1] + 1
    return None


def _block_around(text: str, at: int) -> Span:
    """Return the lines that belong together around a character."""
    line = _line_at(text, at)
    start = line[0]
    while start > 0 and _is_continued(text, _line_at(text, start - 1), start):
        start = text.rfind("\n", 0, start - 1) + 1
    return start, _end_of_block(text, line)


def _end_of_block(text: str, line: Span) -> int:
    while line[1] < len(text) and _is_continued(text, line, line[1] + 1):
        line = _line_at(text, line[1] + 1)
    return line[1]


def _is_continued(text: str, line: Span, below: int) -> bool:
    """Return whether a line continues in the line that starts at `below`."""
    start, end = line
    is_wrapped = end - start >= MIN_WRAPPED_CHARACTERS and _UNFINISHED.match(text, end - 1) is not None
    # An indented line belongs to the item above it, however short that is.
    if not is_wrapped and not (text.startswith((" ", "\t"), below) and _ITEM.match(text, start)):
        return False
    if _CONTINUATION.match(text, below) is None or _OPENING.match(text, below) is not None:
        return False
    return HEADING.match(text, start) is None
