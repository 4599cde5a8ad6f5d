"""Union of two lists of entries, such as those that two machines appended to one daily note. Pure.

A block is a heading, a list item with the lines below it, a paragraph, or a fenced code block. Blocks that both sides
have appear once, and blocks with a time of day are in order of time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ITEM = re.compile(r"[-*+] |\d{1,9}[.)] ")
_HEADING = re.compile(r"#{1,6}(?:\s|$)")
_TIME = re.compile(
    r"[#>\-*+\s\[(_|]*(?:(?P<day>\d{4}-\d{2}-\d{2})[T ,]+)?(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)"
    r"(?::(?P<second>[0-5]\d))?(?!\d)"
)


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines that belong together, and whether a blank line follows them."""

    lines: tuple[str, ...]
    is_spaced: bool

    @property
    def is_item(self) -> bool:
        """Whether it is a list item, which needs no blank line around it."""
        return _ITEM.match(self.lines[0]) is not None

    @property
    def time(self) -> tuple[str, int] | None:
        """The day, if it says one, and the second of the day at which it was written; None if it has no time."""
        match = _TIME.match(self.lines[0])
        if match is None:
            return None
        seconds = int(match["hour"]) * 3600 + int(match["minute"]) * 60 + int(match["second"] or 0)
        return match["day"] or "", seconds


def unite(ours: Sequence[str], theirs: Sequence[str], *, theirs_first: bool = False) -> list[str]:
    """Return the blocks of both sides, equal ones once.

    Args:
        ours: Lines of one side.
        theirs: Lines of the other side.
        theirs_first: Whether their blocks come first if no block has a time.
    """
    one, other = (theirs, ours) if theirs_first else (ours, theirs)
    first, second = _split(one), _split(other)
    known = {block.lines for block in first}
    result: list[_Block] = []
    matcher = SequenceMatcher(None, [b.lines for b in first], [b.lines for b in second], autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            result += first[i1:i2]
        else:
            new = [block for block in second[j1:j2] if block.lines not in known]
            result += _by_time(first[i1:i2], new)
    is_led = any(side and not side[0].strip() for side in (ours, theirs))
    is_trailed = any(side and not side[-1].strip() for side in (ours, theirs))
    return [""] * is_led + _join(result) + [""] * is_trailed


def _split(lines: Sequence[str]) -> list[_Block]:
    """Return the blocks of some lines, without blank lines at the start."""
    blocks: list[_Block] = []
    here: list[str] = []
    fence = ""

    def close(is_spaced: bool) -> None:
        if here:
            blocks.append(_Block(tuple(here), is_spaced))
            here.clear()

    for line in lines:
        mark = _FENCE.match(line)
        if fence:
            here.append(line)
            if mark is not None and mark[1].startswith(fence):
                fence = ""
        elif not line.strip():
            close(is_spaced=True)
        else:
            if _ITEM.match(line) or _HEADING.match(line) or (here and _HEADING.match(here[0])):
                close(is_spaced=False)
            if mark is not None:
                fence = mark[1]
            here.append(line)
    close(is_spaced=False)
    return blocks


def _by_time(first: Sequence[_Block], second: Sequence[_Block]) -> list[_Block]:
    """Merge two lists of blocks in order of time; a block without a time stays behind the one before it."""
    if not second or not first:
        return [*first, *second]
    result: list[_Block] = []
    waiting = list(_timed(second))
    for time, block in _timed(first):
        while waiting and time is not None and waiting[0][0] is not None and waiting[0][0] < time:
            result.append(waiting.pop(0)[1])
        result.append(block)
    return result + [block for _, block in waiting]


def _timed(blocks: Sequence[_Block]) -> list[tuple[tuple[str, int] | None, _Block]]:
    """Return each block with its time, or that of the block before it."""
    times: list[tuple[tuple[str, int] | None, _Block]] = []
    last: tuple[str, int] | None = None
    for block in blocks:
        last = block.time or last
        times.append((last, block))
    return times


def _join(blocks: Sequence[_Block]) -> list[str]:
    """Return the lines of blocks, with a blank line between paragraphs."""
    lines: list[str] = []
    for at, block in enumerate(blocks):
        lines += block.lines
        if at + 1 < len(blocks):
            following = blocks[at + 1]
            if block.is_spaced or not (block.is_item and following.is_item):
                lines.append("")
    return lines
