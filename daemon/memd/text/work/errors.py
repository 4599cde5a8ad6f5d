"""Errors in outputs of any tool and language: the lines that carry them, and their identity. Pure and linear.

A line counts by its structure (the last line of a traceback, `file:line: error`), else by a word of many languages.
A line that only reports a failure (`make: *** [all] Error 2`) counts if there is no other. An error has two forms: its
class, in which paths, numbers, times and quoted names are replaced, and an exact form with the names, because
`No module named 'x'` and `No module named 'y'` need different fixes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Final

from memd.text.data_files import read_sections
from memd.text.lazy_pattern import lazy_pattern
from memd.text.work.commands import TEMPORARY_PATH

MAX_READ_CHARS: Final = 65_536
"""Characters of an output that are searched for its error: half of them at each end."""

MAX_LINE_CHARS: Final = 500
"""Characters of a line that are read, and of a normalized one."""

MAX_ERROR_LINES: Final = 8
NEAR_LINES: Final = 20
"""Lines before and after the error that may carry it, too."""

MAX_PASSES: Final = 6

_SECTIONS = read_sections(Path(__file__).with_suffix(".txt"))


def _shape(name: str) -> Callable[[str], object]:
    """Return what tells whether a line has a shape; patterns for its beginning are tried only there."""
    rows = _SECTIONS[name]
    first, others = (
        lazy_pattern("|".join(f"(?:{row})" for row in rows if row.startswith("^") == is_first) or "(?!)")
        for is_first in (True, False)
    )
    return lambda line: first.match(line) or others.search(line)


_is_never, _is_wrapper, _has_word, _is_structure, _is_detail, _is_cause, _is_before = map(
    _shape, ("never", "wrapper", "word", "structure", "detail", "cause", "before")
)
_PREFIX = lazy_pattern("|".join(_SECTIONS["prefix"]))
ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)|[\x00-\x08\x0b-\x1a\x7f]")
_TRACEBACK = re.compile(r"^\s*(?:\| *)?Traceback \(most recent call last\)")
_SPACES = re.compile(r"\s+")
_MASKS = [(mask, lazy_pattern(row)) for mask, row in (row.split("  ", 1) for row in _SECTIONS["masks"])]
_QUOTED = lazy_pattern("|".join(_SECTIONS["quoted"]))
_START = re.compile(r"^(?:<time>\W*)+|^<path>(?:/\S+)?: *(?=\S)")


def error_lines(output: str, *, is_failed: bool = False) -> list[str]:
    """Return the lines of an output that carry its error, the one that names it best first.

    Args:
        output: What a command printed.
        is_failed: Whether the command failed, so that the last line counts if none looks like an error.
    """
    lines = _lines_of(output)
    first = error_at(lines, is_failed=is_failed)
    if first is None:
        return []
    near = lines[max(0, first - NEAR_LINES) : first + NEAR_LINES]
    others = [line for line in near if line != lines[first] and is_error_message(line)]
    return [line.strip()[:MAX_LINE_CHARS] for line in (lines[first], *others[: MAX_ERROR_LINES - 1])]


def error_at(lines: list[str], *, is_failed: bool = False) -> int | None:
    """Return the number of the line that names the error; None without an error."""
    best, best_rank, is_traceback = None, 0, False
    for at, line in enumerate(lines):
        rank = _rank(line.strip()[:MAX_LINE_CHARS], best_rank)
        if _TRACEBACK.search(line):
            is_traceback = True
        elif is_traceback and not line[:1].isspace():
            rank, is_traceback = 5, False
        if best_rank < 3 and at and rank != 1 and _is_before(lines[at - 1].strip()):
            rank = max(rank, 3)
        if rank > best_rank or (rank == best_rank == 5):
            best, best_rank = at, rank
    if best is None and is_failed and lines:
        return len(lines) - 1
    return best


def is_error_message(line: str) -> bool:
    """Return whether a line has the structure of an error's message."""
    return _rank(line.strip()[:MAX_LINE_CHARS]) > 2


def is_error(line: str) -> bool:
    """Return whether a line names or reports an error."""
    return _rank(line.strip()[:MAX_LINE_CHARS]) > 0


def normalize_error(text: str, *, exact: bool = False) -> str:
    """Return an error without what differs between runs: its class, or the exact form with names of things."""
    for _ in range(MAX_PASSES):
        before = text
        text = _SPACES.sub(" ", ESCAPE.sub("", text[: 2 * MAX_LINE_CHARS])).strip()
        text = _masked(text, exact)[:MAX_LINE_CHARS]
        if text == before:
            break
    return text


def error_key(text: str, *, exact: bool = False, is_failed: bool = False) -> str:
    """Return a short hash of the error in a text, by its class or its exact form; "" without an error."""
    lines = error_lines(text, is_failed=is_failed)
    normal = normalize_error(lines[0], exact=exact).casefold() if lines else ""
    return blake2b(normal.encode("utf-8", "replace"), digest_size=6).hexdigest() if normal else ""


def ends_of(output: str, gap: str = "") -> str:
    """Return the part of an output that is searched for its error."""
    half = MAX_READ_CHARS // 2
    return output if len(output) <= MAX_READ_CHARS else f"{output[:half]}\n{gap}\n{output[-half:]}"


def _lines_of(output: str) -> list[str]:
    """Return the lines of an output without colors and spaces at their ends."""
    lines = (line.rstrip() for line in ESCAPE.sub("", ends_of(output)).splitlines())
    return [line for line in lines if line]


@lru_cache(maxsize=2_048)  # the key of an error is made from lines that were ranked for the excerpt
def _rank(line: str, best: int = 0) -> int:
    """Return how well a line names an error, as far as that is better than the best line before it: 0 if it doesn't."""
    if _is_cause(line):
        return 5
    if best < 4 and _is_detail(line):
        rank = 4
    elif best < 3 and _is_structure(line):
        rank = 3
    else:
        rank = 2 if best < 2 and _has_word(line.lower()) else 0
    return 0 if not rank or _is_never(line) else 1 if _is_wrapper(line) else rank


def _masked(text: str, exact: bool) -> str:
    text = TEMPORARY_PATH.sub("<path>", _PREFIX.sub("", text))
    for mask, pattern in _MASKS:
        if exact and mask == "<path>":
            text = pattern.sub(lambda path: f"<path>/{path['name']}" if path["name"] else "<path>", text)
        else:
            text = pattern.sub(mask.replace("-", ""), text)
    return _START.sub("", text if exact else _QUOTED.sub("'…'", text)).strip()
