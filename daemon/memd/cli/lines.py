"""What a command says: lines of styled pieces, and the blocks several commands share. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memd.cli.wording import age, count

if TYPE_CHECKING:
    from memd_client.messages import Degraded, Problem, Skipped

Piece = str | tuple[str, str]
"""Text, or text and the name of a style in `output.STYLES`."""

DOT = " · "
LABEL_INDENT = 14
"""Columns: two of indent, the longest label (`sqlite-vec`) and two of air."""

SHOWN_SKIPPED = 5
"""Files named before the rest is only counted; `--json` has them all."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line: pieces from column `indent` on, with a `head` to the left of them.

    A terminal narrower than the line gets it wrapped below `indent`; a pipe gets it as one line.
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


def dotted(*parts: Piece | None) -> tuple[Piece, ...]:
    """Return the parts that say something, with a dot between them."""
    pieces: list[Piece] = []
    for part in parts:
        if not part or not part[0]:
            continue
        if pieces:
            pieces.append((DOT, "quiet"))
        pieces.append(part)
    return tuple(pieces)


def degraded_lines(degraded: Degraded | None, now_ms: int) -> list[Line]:
    """Return why an answer is less than the whole, since when, and the way out.

    Args:
        degraded: What the daemon said; None where nothing is the matter.
        now_ms: The time now, in epoch milliseconds.
    """
    if degraded is None:
        return []
    return [
        row("degraded", (degraded.reason, "warn"), (since(degraded, now_ms), "quiet")),
        *_way_out(degraded.hint),
    ]


def since(degraded: Degraded, now_ms: int) -> str:
    """Return what follows a reason: for how long it has been so, and its code."""
    elapsed = age(degraded.since_ms, now_ms)
    return f" (for {elapsed}, {degraded.code})" if elapsed else f" (just now, {degraded.code})"


def problem_lines(problems: Iterable[Problem]) -> list[Line]:
    """Return each problem and its way out."""
    lines: list[Line] = []
    for problem in problems:
        lines.append(row("problem", (problem.message, "bad"), (f" ({problem.code})", "quiet")))
        lines.extend(_way_out(problem.hint))
    return lines


def _way_out(hint: str) -> list[Line]:
    """Return what a person can do about the line above."""
    return [line(("try: ", "label"), hint, indent=LABEL_INDENT)] if hint else []


def skipped_lines(skipped: Sequence[Skipped]) -> list[Line]:
    """Return how many files are left out of the index, and the first few with the reason."""
    if not skipped:
        return []
    lines = [row("skipped", (count(len(skipped), "file"), "warn"))]
    for each in skipped[:SHOWN_SKIPPED]:
        lines.append(line((each.path, "path"), f": {each.reason}", indent=LABEL_INDENT))
    hidden = len(skipped) - SHOWN_SKIPPED
    if hidden > 0:
        lines.append(line((f"and {hidden:,} more; --json lists them all", "quiet"), indent=LABEL_INDENT))
    return lines
