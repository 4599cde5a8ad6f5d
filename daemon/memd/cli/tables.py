"""Tables that fit a terminal: cells wrap between words, paths are shortened, or each row becomes a block. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from memd.cli.lines import DOT, Line, dotted, line
from memd.cli.wording import cells, printable

GAP = 2
"""Columns between two cells."""

MIN_PATH_WIDTH = 16
"""Columns a shortened path keeps in a table: `/home/…/notes.md` names the place and the file."""

ELLIPSIS = "…"

_WORDS = re.compile(r"(?<!\d)\s+")
"""Between words; a number and its unit are one."""


def shorten_middle(text: str, width: int) -> str:
    """Return text of at most `width` columns; a longer one has `…` in its middle, and more of its end is kept."""
    if cells(text) <= width:
        return text
    begin = _first_cells(text, (width - 1) // 3)
    end = _first_cells(text[::-1], width - 1 - cells(begin))[::-1]
    return begin + ELLIPSIS + end


def _first_cells(text: str, width: int) -> str:
    """Return the beginning of a text that takes at most so many columns."""
    taken = 0
    for place, char in enumerate(text):
        taken += cells(char)
        if taken > width:
            return text[:place]
    return text


def table_lines(
    heads: Sequence[str], rows: Sequence[Sequence[str]], width: int, shorten: Collection[str] = ()
) -> list[Line]:
    """Return a table as lines of at most `width` columns: the first column is a name, the others are figures."""
    grid = [[printable(cell, "") for cell in each] for each in rows]
    widths = _fitting_widths(heads, grid, width, shorten)
    if widths is None:
        return [each for row in grid for each in _block(heads, row, width)]
    lines = [line((text, "heads")) for text in _grid_row(heads, widths)]
    for row in grid:
        lines += [line(text) for text in _grid_row(row, widths)]
    return lines


def _fitting_widths(
    heads: Sequence[str], grid: Sequence[Sequence[str]], width: int, shorten: Collection[str]
) -> list[int] | None:
    """Return the columns' widths; None if the table doesn't fit.

    Columns that may be shortened give way first, down to `MIN_PATH_WIDTH`, then the widest, down to its longest word.
    """
    columns = [[head, *(row[place] for row in grid)] for place, head in enumerate(heads)]
    widths = [max(map(cells, column)) for column in columns]
    least = [max(cells(word) for cell in column for word in _WORDS.split(cell)) for column in columns]
    for place, head in enumerate(heads):
        if head in shorten:
            least[place] = min(least[place], max(MIN_PATH_WIDTH, cells(head)))
    room = width - GAP * (len(heads) - 1)
    if sum(least) > room:
        return None
    while sum(widths) > room:
        wider = [place for place in range(len(widths)) if widths[place] > least[place]]
        widths[max(wider, key=lambda place: (heads[place] in shorten, widths[place]))] -= 1
    return widths


def _grid_row(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Return a row as lines of text: the first cell on its left, the others on their right."""
    wrapped = [_wrap(cell, width) for cell, width in zip(row, widths, strict=True)]
    height = max(map(len, wrapped))
    texts = []
    for number in range(height):
        parts = [part[number] if number < len(part) else "" for part in wrapped]
        gaps = [" " * (width - cells(part)) for part, width in zip(parts, widths, strict=True)]
        filled = [parts[0] + gaps[0], *(gap + part for gap, part in zip(gaps[1:], parts[1:], strict=True))]
        texts.append((" " * GAP).join(filled).rstrip())
    return texts


def _wrap(cell: str, width: int) -> list[str]:
    """Return a cell's lines, wrapped between words; a word that is wider is shortened."""
    if cells(cell) <= width:
        return [cell]
    lines = [""]
    for word in _WORDS.split(cell):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if cells(joined) <= width:
            lines[-1] = joined
        elif lines[-1]:
            lines.append(shorten_middle(word, width))
        else:
            lines[-1] = shorten_middle(word, width)
    return lines


def _block(heads: Sequence[str], row: Sequence[str], width: int) -> list[Line]:
    """Return a row of a table that doesn't fit: its name, and below it every other cell with its head."""
    room = width - GAP
    name = shorten_middle(row[0], width - cells(heads[0]) - 1)
    lines = [line((f"{heads[0]} ", "label"), (name, "title"))]
    parts: list[str] = []
    for head, cell in zip(heads[1:], row[1:], strict=True):
        if not cell:
            continue
        part = " ".join([head, *(shorten_middle(word, room) for word in cell.split())])
        if parts and cells(DOT.join([*parts, part])) > room:
            lines.append(Line(dotted(*parts), GAP))
            parts = []
        parts.append(part)
    return [*lines, Line(dotted(*parts), GAP)]
