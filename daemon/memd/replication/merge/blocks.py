"""Union of two lists of entries, such as those that two machines appended to one daily note. Pure.

A block is a heading, a list item with the text below it, a paragraph, or a fenced code block. Blocks that both sides
have appear once, and blocks with a time of day are in order of time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from memd.text.alignment import align
from memd.text.fences import fence_of, is_end

_ITEM = re.compile(r"[-*+] |\d{1,9}[.)] ")
_HEADING = re.compile(r"#{1,6}(?:\s|$)")
_DELIMITER = re.compile(r"[\s:|-]*")
_TIME = re.compile(
    r"[#>\-*+\s\[(_|]*(?:(?P<day>\d{4}-\d{2}-\d{2})[T ,]+)?(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)"
    r"(?::(?P<second>[0-5]\d))?(?!\d)(?:\s?(?P<half>[ap])\.?m\b)?",
    re.IGNORECASE,
)


class _Block(Struct, frozen=True):
    """Lines that belong together, and whether a blank line follows them."""

    lines: tuple[str, ...]
    is_spaced: bool

    @property
    def is_item(self) -> bool:
        """Whether it is a list item, which needs no blank line around it."""
        return is_item(self.lines[0])

    @property
    def is_heading(self) -> bool:
        """Whether it is a heading, which may have other text below it than an equal one."""
        return is_heading(self.lines[0])

    @property
    def is_rows(self) -> bool:
        """Whether it is rows of a table without the line below the header, which continue the table above."""
        return all(
            line.startswith("|") and not ("-" in line and _DELIMITER.fullmatch(line)) for line in self.lines
        )

    @property
    def time(self) -> tuple[str, int] | None:
        """The day, if it says one, and the second of the day at which it was written; None if it has no time."""
        match = _TIME.match(self.lines[0])
        if match is None:
            return None
        hour = int(match["hour"])
        if match["half"] and 1 <= hour <= 12:
            hour = hour % 12 + 12 * (match["half"].lower() == "p")
        seconds = hour * 3600 + int(match["minute"]) * 60 + int(match["second"] or 0)
        return match["day"] or "", seconds


def unite(ours: Sequence[str], theirs: Sequence[str], *, theirs_first: bool = False) -> list[str]:
    """Return the blocks of both sides, equal ones once.

    Args:
        ours: Lines of one side.
        theirs: Lines of the other side.
        theirs_first: Whether their blocks come first if no block has a time.
    """
    one, other = (theirs, ours) if theirs_first else (ours, theirs)
    first, second = _split(one), _timed(_split(other))
    known = {block.lines for block in first if not block.is_heading}
    result: list[_Block] = []
    at = there = 0
    pairs = align([block.lines for block in first], [block.lines for _, block in second])
    for here, position in [*pairs, (len(first), len(second))]:
        new = [each for each in second[there:position] if each[1].lines not in known]
        result += _by_time(first[at:here], new)
        result += first[here : here + 1]
        at, there = here + 1, position + 1
    is_led = any(side and not side[0].strip() for side in (ours, theirs))
    is_trailed = any(side and not side[-1].strip() for side in (ours, theirs))
    return [""] * is_led + _join(result) + [""] * is_trailed


def is_item(line: str) -> bool:
    """Return whether a line starts a list item."""
    return _ITEM.match(line) is not None


def is_indented(line: str) -> bool:
    """Return whether a line continues the list item above it."""
    return line.startswith(("  ", "\t"))


def is_heading(line: str) -> bool:
    """Return whether a line is a heading."""
    return _HEADING.match(line) is not None


def is_later(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether the last entry of some lines has a later time than the first of others."""
    times, others = ([block.time for block in _split(lines) if block.time] for lines in (one, other))
    return bool(times and others) and times[-1] > others[0]


def _split(lines: Sequence[str]) -> list[_Block]:
    """Return the blocks of some lines, without blank lines at the start."""
    blocks: list[_Block] = []
    here: list[str] = []
    fence, blank = "", 0

    def close(is_spaced: bool) -> None:
        if here:
            blocks.append(_Block(tuple(here), is_spaced))
            here.clear()

    for line in lines:
        if fence:
            here.append(line)
            if is_end(line, fence):
                fence = ""
        elif not line.strip():
            blank += 1
        else:
            if blank and here and is_item(here[0]) and is_indented(line):
                here += [""] * blank
            elif blank or is_item(line) or is_heading(line) or (here and is_heading(here[0])):
                close(is_spaced=blank > 0)
            fence, blank = fence_of(line), 0
            here.append(line)
    close(is_spaced=blank > 0)
    return blocks


_Time = tuple[str, int]
_TimedBlock = tuple[_Time | None, _Block]


def _by_time(first: Sequence[_Block], second: Sequence[_TimedBlock]) -> list[_Block]:
    """Merge two lists of blocks in order of time; those of the first come first if times are equal or missing.

    A block without a time stays behind the one before it.
    """
    result: list[_Block] = []
    at = 0
    for block in first:
        while at < len(second) and _is_before(second[at][0], block.time):
            result.append(second[at][1])
            at += 1
        result.append(block)
    return result + [block for _, block in second[at:]]


def _is_before(one: _Time | None, other: _Time | None) -> bool:
    return one is not None and other is not None and one < other


def _timed(blocks: Sequence[_Block]) -> list[_TimedBlock]:
    """Return each block with its time, or that of the block before it; those before the first have the first time."""
    own = [block.time for block in blocks]
    last = next((time for time in own if time), None)
    times: list[_TimedBlock] = []
    for time, block in zip(own, blocks, strict=True):
        last = time or last
        times.append((last, block))
    return times


def _join(blocks: Sequence[_Block]) -> list[str]:
    """Return the lines of blocks, with a blank line between paragraphs."""
    lines: list[str] = []
    for at, block in enumerate(blocks):
        lines += block.lines
        if at + 1 < len(blocks):
            following = blocks[at + 1]
            is_joined = (block.is_item and following.is_item) or (block.is_rows and following.is_rows)
            if block.is_spaced or not is_joined:
                lines.append("")
    return lines
