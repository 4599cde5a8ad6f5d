"""Lines of styled pieces, blocks that several commands share, and the format of numbers and times. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memd.system.units import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from memd.system.units import about as about
from memd.system.units import count as count
from memd.system.units import embedder as embedder
from memd.system.units import rough as rough
from memd.system.units import size as size
from memd.system.units import span as span

if TYPE_CHECKING:
    from memd_client.messages import (
        AccountStatus,
        Check,
        Degradation,
        Fallback,
        FillProgress,
        Problem,
        SkippedFile,
    )


FRESH_MS = 2 * SECOND_MS
"""Younger than this is shown as "just now"."""

KEPT = "\n\t"
"""Control characters that are printed unchanged."""

UNSAFE_FORMAT = frozenset(
    "".join(map(chr, range(0xE0000, 0xE0080))) + "\u200b\u2060\u2061\u2062\u2063\u2064\ufeff"
    "\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"
)
"""Tags, invisible signs, line separators and direction marks, which can hide or disguise the text of a line."""


def percent(done: int, total: int) -> str:
    """Return a share in whole percent; 100 % only if it is complete."""
    return f"{min(99, 100 * done // total) if done < total else 100} %"


def age(then_ms: int, now_ms: int) -> str:
    """Return the time since then in its largest unit, such as `12 s` or `5 min`; empty below 2 s."""
    age_ms = now_ms - then_ms
    if age_ms < FRESH_MS:
        return ""
    for unit_ms, unit in ((DAY_MS, "d"), (HOUR_MS, "h"), (MINUTE_MS, "min")):
        if age_ms >= unit_ms:
            return f"{age_ms // unit_ms} {unit}"
    return f"{age_ms // SECOND_MS} s"


def ago(then_ms: int | None, now_ms: int) -> str:
    """Return how long ago a time is, such as `5 min ago`, `just now` or `never`."""
    if then_ms is None:
        return "never"
    elapsed = age(then_ms, now_ms)
    return f"{elapsed} ago" if elapsed else "just now"


def until(then_ms: int, now_ms: int) -> str:
    """Return how far ahead a time is, such as `in 25 min`; `now` if it is past."""
    return f"in {about(then_ms - now_ms)}" if then_ms > now_ms else "now"


def stamp(moment_ms: int) -> str:
    """Return a time in UTC for names of files, such as `20261122T174012Z`."""
    return datetime.fromtimestamp(moment_ms / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")


def printable(text: str, kept: str = KEPT) -> str:
    """Return text that is safe on a terminal: control characters and lone surrogates are escaped."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if _is_harmless(char, kept) else _escaped(char) for char in text)


def _is_harmless(char: str, kept: str) -> bool:
    """Return whether a character is safe on a terminal."""
    if char in kept:
        return True
    return unicodedata.category(char) not in ("Cc", "Cs") and char not in UNSAFE_FORMAT


def _escaped(char: str) -> str:
    """Return a character as its escape sequence."""
    number = ord(char)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def cells(text: str) -> int:
    """Return the width of a text in terminal columns: wide characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    marks = sum(unicodedata.combining(char) != 0 for char in text)
    return len(text) + wide - marks


_PATHS = re.compile(r"((?<!\S)\S*/\S*)")

Piece = str | tuple[str, str]
"""Text, or text and the name of a style in `output.STYLES`."""

DOT = " · "
LABEL_INDENT = 14
"""Columns: two of indent, the longest label (`sqlite-vec`) and two of space."""

NO_AGENTS = "no agents; agents are the entries in openclaw.json and the folders in agents/"

DETAILS = "; `memctl status -v` lists them"

SHOWN = 5
"""Files, chunks or jobs listed; the others are counted, and `--json` lists all."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line: pieces from column `indent` on, with a `head` to their left.

    A narrow terminal gets it wrapped below `indent`; a pipe gets it as one line.
    """

    pieces: tuple[Piece, ...] = ()
    indent: int = 0
    head: Piece = ""


BLANK = Line()


def line(*pieces: Piece, indent: int = 0) -> Line:
    """Return a line of pieces."""
    return Line(pieces, indent)


def row(label: str, *pieces: Piece) -> Line:
    """Return a line with a label to its left."""
    return Line(pieces, LABEL_INDENT, ("  " + label, "label"))


def shortenable(text: str, style: str = "") -> tuple[Piece, ...]:
    """Return text as pieces; a narrow terminal shortens the paths, the rest has a style."""
    parts = [part for part in _PATHS.split(text) if part]
    return tuple((part, "place") if "/" in part else (part, style) if style else part for part in parts)


def dotted(*parts: Piece | None) -> tuple[Piece, ...]:
    """Return the parts that are not empty, separated by dots."""
    pieces: list[Piece] = []
    for part in parts:
        if not part or not part[0]:
            continue
        if pieces:
            pieces.append((DOT, "quiet"))
        pieces.append(part)
    return tuple(pieces)


def degraded_lines(degraded: Degradation | None, now_ms: int) -> list[Line]:
    """Return why searches are degraded, since when, and the hint."""
    if degraded is None:
        return []
    return [
        row("degraded", (degraded.reason, "warn"), (since(degraded, now_ms), "quiet")),
        *_hint_lines(degraded.hint),
    ]


def since(state: Degradation | Fallback | AccountStatus, now_ms: int) -> str:
    """Return the duration and code of a state, such as ` (for 3 h, provider_failed)`."""
    elapsed = age(state.since_ms, now_ms)
    return f" (for {elapsed}, {state.code})" if elapsed else f" (just now, {state.code})"


def fallback_pieces(fallback: Fallback, provider: str, now_ms: int) -> tuple[Piece, ...]:
    """Return which provider replaces the configured one, why, and since when."""
    replacement = f"using {provider}" if provider else "keyword search only"
    return (
        (f"{replacement} instead of {fallback.provider}: {fallback.reason}", "warn"),
        (since(fallback, now_ms), "quiet"),
    )


def filling_pieces(filling: FillProgress, space: str, provider: str) -> tuple[Piece, ...]:
    """Return the progress of a new vector space, and what searches use until it is complete."""
    until_then = f"searches use {provider} until then" if provider else "keyword search only until then"
    left = [
        f"about {about(filling.eta_s * 1000)}" if filling.eta_s is not None else "",
        f"{rough(filling.tokens)} tokens" if filling.tokens else "",
    ]
    to_go = " and ".join(part for part in left if part)
    share = f" ({percent(filling.done, filling.total)})" if filling.total > 0 else ""
    return (
        f"{embedder(filling.provider, filling.model)}, {filling.done:,} of {count(filling.total, 'text')}{share}",
        f", {to_go} to go" if to_go else "",
        ("" if filling.space == space else f"; {until_then}", "quiet"),
    )


def problem_lines(problems: Iterable[Problem]) -> list[Line]:
    """Return each problem and its hint."""
    lines: list[Line] = []
    for problem in problems:
        lines.append(row("problem", (problem.message, "bad"), (f" ({problem.code})", "quiet")))
        lines.extend(_hint_lines(problem.hint))
    return lines


def _hint_lines(hint: str) -> list[Line]:
    """Return the hint for the line above; none if it is empty."""
    return [line(("hint: ", "label"), hint, indent=LABEL_INDENT)] if hint else []


def skipped_lines(skipped: Sequence[SkippedFile]) -> list[Line]:
    """Return the number of files excluded from the index, and the first few with the reason."""
    return listed("skipped", "file", [(each.path, f": {each.reason}") for each in skipped])


def listed(label: str, noun: str, items: Sequence[tuple[str, str]]) -> list[Line]:
    """Return the number of items, and the first few, each with a path and a text; nothing if there are none."""
    if not items:
        return []
    named = [line((path, "path"), text, indent=LABEL_INDENT) for path, text in items]
    return [row(label, (count(len(items), noun), "warn")), *first_few(named)]


def first_few(named: Sequence[Line]) -> list[Line]:
    """Return the first lines of a list, and how many more there are."""
    hidden = len(named) - SHOWN
    if hidden <= 0:
        return list(named)
    more = line((f"and {hidden:,} more; --json lists all", "quiet"), indent=LABEL_INDENT)
    return [*named[:SHOWN], more]


def check_line(check: Check) -> Line:
    """Return the result of one check of a deep status."""
    outcome = ("ok      ", "good") if check.ok else ("failed  ", "bad")
    return row("check", outcome, check.name, f": {check.detail}" if check.detail else "")
