"""Fenced code blocks of Markdown, which a merge neither cuts nor mixes with text. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

_START = re.compile(r" {0,3}(?:(`{3,})[^`]*|(~{3,}).*)")
_END = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*")


def fence_of(line: str) -> str:
    """Return the characters of a line that starts a fenced code block, "" for any other line."""
    match = _START.fullmatch(line)
    return "" if match is None else match[1] or match[2]


def is_end(line: str, fence: str) -> bool:
    """Return whether a line ends a fenced code block."""
    match = _END.fullmatch(line)
    return match is not None and match[1].startswith(fence)


def join_fences(lines: Sequence[str]) -> list[str]:
    """Return lines, each fenced code block that has an end as one item with line breaks."""
    ends = _ends(lines)
    units: list[str] = []
    at = 0
    while at < len(lines):
        end = ends.get(at, at)
        units.append("\n".join(lines[at : end + 1]))
        at = end + 1
    return units


def split_fences(units: Sequence[str]) -> list[str]:
    """Return the lines of the items that `join_fences` returned."""
    return [line for unit in units for line in unit.split("\n")]


def _ends(lines: Sequence[str]) -> dict[int, int]:
    """Return the last line of each fenced code block by its first; one without an end is not included."""
    ends: dict[int, int] = {}
    fence, start = "", 0
    for number, line in enumerate(lines):
        if not fence:
            fence, start = fence_of(line), number
        elif is_end(line, fence):
            ends[start] = number
            fence = ""
    return ends
