"""What `memctl import` says: what would become of each file, and what became of it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from memd.cli.lines import BLANK, Line, line, shortenable
from memd.cli.wording import count, size
from memd.importing.plan import (
    CHANGED,
    CONFLICT,
    DUPLICATE,
    EDITED,
    FAILED,
    GONE,
    KEPT,
    LEFT_OUT,
    NEW,
    SAME,
    TAKEN,
    WRITTEN,
    Row,
)

STYLES = {
    NEW: "good",
    CHANGED: "good",
    KEPT: "good",
    CONFLICT: "warn",
    EDITED: "quiet",
    DUPLICATE: "quiet",
    LEFT_OUT: "warn",
    GONE: "quiet",
    FAILED: "bad",
}
"""States that are listed, in this order. `SAME` is only counted: nothing is to be said of it."""

INDENT = 13
"""Columns before a path: two of indent, the longest state and two of air."""

SHOWN = 40
"""Files of one state that are listed before the rest is only counted."""


def plan_lines(rows: Sequence[Row], head: Sequence[str]) -> list[Line]:
    """Return a plan as it is shown before anything is written."""
    said = [line(*shortenable(each, "title" if place == 0 else "quiet")) for place, each in enumerate(head)]
    listed = [each for state in STYLES for each in _listed(rows, state)]
    return [*said, BLANK, *listed, *([BLANK] if listed else []), line(sum_of(rows))]


def failed_lines(rows: Sequence[Row]) -> list[Line]:
    """Return the files that were to be written and weren't, each with its reason."""
    return _listed(rows, FAILED)


def _listed(rows: Iterable[Row], state: str) -> list[Line]:
    """Return the files of one state, the first of them if there are many."""
    found = [each for each in rows if each.state == state]
    lines = [_line(each) for each in found[:SHOWN]]
    if len(found) > SHOWN:
        lines.append(
            line((f"and {len(found) - SHOWN:,} more; --json lists them all", "quiet"), indent=INDENT)
        )
    return lines


def _line(row: Row) -> Line:
    """Return the line of one file: where it goes and what it comes from, or why it doesn't go anywhere."""
    head = ("  " + row.state, STYLES[row.state])
    if row.state in TAKEN:
        why = f"; {row.reason}" if row.reason else ""
        source = (("  from ", "quiet"), (row.source, "place"), (why, "quiet"))
        pieces = ((row.target, "path"), f"  {size(row.size)}", *source)
        return Line(pieces, INDENT, head)
    place = row.target if row.state in (KEPT, CONFLICT, EDITED, GONE, FAILED) and row.target else row.source
    figure = f" ({size(row.size)})" if row.state == LEFT_OUT and row.size else ""
    return Line(((place, "path"), f": {row.reason}{figure}"), INDENT, head)


def sum_of(rows: Iterable[Row], verb: str = "to write") -> str:
    """Return how many files there are of each state, such as `2 files to write (1.2 kB), 1 left out.`"""
    rows = list(rows)
    states = Counter(each.state for each in rows)
    wanted = [each for each in rows if each.state in WRITTEN]
    taken = [each.size for each in wanted if each.state in TAKEN]
    bytes_ = f" ({size(sum(taken))})" if taken else ""
    parts = [f"{count(len(wanted), 'file')} {verb}{bytes_}"]
    words = {SAME: "as they are", EDITED: "edited here", DUPLICATE: "known already", GONE: "without a source"}
    for state in (SAME, CONFLICT, EDITED, DUPLICATE, LEFT_OUT, GONE, FAILED):
        if states[state]:
            word = "in conflict" if state == CONFLICT else words.get(state, state)
            parts.append(f"{states[state]:,} {word}")
    return ", ".join(parts) + "."
