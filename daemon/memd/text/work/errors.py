"""Errors in outputs of any tool and language: the lines that carry them, and their identity. Pure, linear in the output.

A line counts by its structure (the last line of a traceback, `file:line: error`), else by a word of many languages. Lines
that only report that something failed (`make: *** [all] Error 2`) count if there is no other. An error has two forms:
its class, in which paths, numbers, times and quoted names are replaced, and an exact form with the names, because
`No module named 'x'` and `No module named 'y'` need different fixes.
"""

from __future__ import annotations

import re
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
MAX_PASSES: Final = 6

_SECTIONS = read_sections(Path(__file__).with_suffix(".txt"))
_RANKS: Final = ("never", "wrapper", "word", "structure", "detail", "cause")
_NEVER, _WRAPPER, _WORD, _STRUCTURE, _DETAIL, _CAUSE, _BEFORE, _PREFIX = (
    lazy_pattern("|".join(f"(?:{row})" for row in _SECTIONS[name]), re.IGNORECASE if name == "word" else re.NOFLAG)
    for name in (*_RANKS, "before", "prefix")
)
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)|[\x00-\x08\x0b-\x1a\x7f]")
_TRACEBACK = re.compile(r"^\s*(?:\| *)?Traceback \(most recent call last\)")
_SPACES = re.compile(r"\s+")
_STAMP = (
    r"\[?(?<!\d)\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z| ?[+-]\d\d:?\d\d)?)?\]?"
    r"|\[?(?<![\d:])\d\d:\d\d:\d\d(?:[.,]\d+)?\]?"
    r"|(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(?:\d\d? )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\w* +\d\d?,? "
    r"(?:\d{4} )?\d\d:\d\d:\d\d(?: \w{3,4})?(?: \d{4})?"
)
_QUOTE = r"(?<!\w)'[^'\n]{1,200}'(?!\w)|\"[^\"\n]{1,200}\"|`[^`'\n]{1,200}[`']|[‘“«„][^’”»“\n]{1,200}[’”»“]|[「『][^」』\n]{1,200}[」』]"
_FOLDER = r"(?:(?:file://)?(?<![\w.:/<>-])(?:~|\.{1,2}|[A-Za-z]:)?[\\/]{1,2}|(?<![\w.:/\\<>@-])(?=[\w@.-]+/[\w@./-]+\.\w))(?:[\w@.+~%-]+[\\/]+)*"
_MASKS: Final = (
    (re.compile(_STAMP), "<time>"),
    (re.compile(rf"{_FOLDER}(?P<name>[\w@.+~%-]*)"), "<path>"),
    (re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"), "<id>"),
    (re.compile(r"\b(?:0x[0-9a-fA-F]+|(?=[a-f]*\d)(?=\d*[a-fA-F])[0-9a-f]{7,})\b"), "<hex>"),
    (re.compile(r"(?<=[\w>)])(?::\d+(?::\d+)?(?=[:\s),;]|$)|[(\[]\d+(?:[,:] ?\d+)?[)\]](?=:|\s|$))|\b[Ll]ine \d+(?:,? col(?:umn)? \d+)?"), ""),
    (re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b|\[[0-9a-fA-F]*:[0-9a-fA-F:]*\](?::\d+)?"), "<ip>"),
    (re.compile(r"(?<![A-Za-z]-)(?<![\w.])\d{4,}\b"), "<n>"),
    (re.compile(r"(?<![\w.])\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|secs?|seconds?|m|min|minutes?)\b(?:\s?\d+(?:\.\d+)?\s?m?s\b)?"), "<time>"),
)
_CLASS_QUOTE = re.compile(_QUOTE)


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
    others = [line for line in lines if line != lines[first] and is_error_message(line)]
    return [line.strip()[:MAX_LINE_CHARS] for line in (lines[first], *others[: MAX_ERROR_LINES - 1])]


def error_at(lines: list[str], *, is_failed: bool = False) -> int | None:
    """Return the number of the line that names the error; None without an error."""
    best, best_rank, is_traceback = None, 0, False
    for at, line in enumerate(lines):
        rank = _rank(line.strip())
        if _TRACEBACK.search(line):
            is_traceback = True
        elif is_traceback and not line[:1].isspace():
            rank, is_traceback = 5, False
        if at and rank != 1 and _BEFORE.search(lines[at - 1].strip()):
            rank = max(rank, 3)
        if rank > best_rank or (rank == best_rank == 5):
            best, best_rank = at, rank
    if best is None and is_failed and lines:
        return len(lines) - 1
    return best


def is_error_message(line: str) -> bool:
    """Return whether a line has the structure of an error's message."""
    return _rank(line.strip()) > 2


def normalize_error(text: str, *, exact: bool = False) -> str:
    """Return an error without what differs between two runs: its class, or its exact form with names of files and things."""
    for _ in range(MAX_PASSES):
        before = text
        text = _masked(_SPACES.sub(" ", _ESCAPE.sub("", text[: 2 * MAX_LINE_CHARS])).strip(), exact)[:MAX_LINE_CHARS]
        if text == before:
            break
    return text


def error_key(text: str, *, exact: bool = False, is_failed: bool = False) -> str:
    """Return a short hash of the error in a text, by its class or its exact form; "" without an error."""
    lines = error_lines(text, is_failed=is_failed)
    normal = normalize_error(lines[0], exact=exact).casefold() if lines else ""
    return blake2b(normal.encode("utf-8", "replace"), digest_size=6).hexdigest() if normal else ""


def _lines_of(output: str) -> list[str]:
    """Return the lines of an output without colors and spaces at their ends."""
    if len(output) > MAX_READ_CHARS:
        output = f"{output[: MAX_READ_CHARS // 2]}\n{output[-MAX_READ_CHARS // 2 :]}"
    lines = (line.rstrip() for line in _ESCAPE.sub("", output).splitlines())
    return [line for line in lines if line]


def _rank(line: str) -> int:
    """Return how well a line names an error: 0 if it doesn't."""
    line = line[:MAX_LINE_CHARS]
    if _CAUSE.search(line):
        return 5
    if _NEVER.search(line):
        return 0
    if _WRAPPER.search(line):
        return 1
    return 4 if _DETAIL.search(line) else 3 if _STRUCTURE.search(line) else 2 if _WORD.search(line) else 0


def _masked(text: str, exact: bool) -> str:
    text = _PREFIX.sub("", text)
    text = TEMPORARY_PATH.sub("<path>", text)
    for pattern, mask in _MASKS:
        if exact and mask == "<path>":
            text = pattern.sub(lambda path: f"<path>/{path['name']}" if path["name"] else mask, text)
        else:
            text = pattern.sub(mask, text)
    text = text if exact else _CLASS_QUOTE.sub("'…'", text)
    return re.sub(r"^(?:<time>\W*)+|^<path>(?:/\S+)?: *(?=\S)", "", text).strip()
