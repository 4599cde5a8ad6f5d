"""What fixed a failed command: its own next success in the session, and the steps between them. Pure functions."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from memd.index.work import RAN, WorkRow
from memd.lifecycle.handoff.digest import is_check
from memd.text.work.commands import is_looking
from memd_client.work import FixStep

MAX_VARIANT_STEPS: Final = 25
"""Steps after a failure within which another invocation of its program may be what replaced it."""

MIN_LIKENESS, MIN_WORD_LIKENESS = 0.8, 0.7
"""Least likeness of two command lines, and of a mistyped word and the right one."""

MAX_FIX_STEPS, MAX_SPAN_CHARS = 12, 600
"""Last steps of a fix that are returned, and characters of an edit."""


class Repair(NamedTuple):
    """A failure and the success that followed it.

    Attributes:
        failure: The last run that failed with the error.
        success: The run that succeeded.
        steps: Changes between the two: edits, and commands that did something.
        is_same: Whether the success is the same invocation in the same folder.
    """

    failure: WorkRow
    success: WorkRow
    steps: Sequence[WorkRow]
    is_same: bool

    @property
    def is_rerun(self) -> bool:
        """Whether nothing was changed, so that nothing is known to have fixed it."""
        return self.is_same and not self.steps

    @property
    def remedy(self) -> frozenset[str]:
        """What was changed, equal for the same change in another session."""
        return frozenset(step.line for step in self.steps) or frozenset({self.success.line})


def find_repair(steps: Sequence[WorkRow]) -> Repair | None:
    """Return how the first of some steps, a failed command, was repaired by the others; None if nothing shows that."""
    failure = steps[0]
    if is_looking(failure.text):
        return None
    changes, variant = list[WorkRow](), None
    since_failure = 0
    for row in steps[1:]:
        since_failure += 1
        if row.action != RAN:
            if row.action != "read" and row.status not in ("failed", "refused"):
                changes.append(row)
        elif row.line == failure.line and row.status == "ok":
            is_same = _invocation(row) == _invocation(failure)
            return variant if variant and variant.steps else Repair(failure, row, changes, is_same)
        elif row.line == failure.line and row.status == "failed":
            if row.error == failure.error:  # what was changed before didn't help
                failure, changes, variant, since_failure = row, [], None, 0
        elif row.status in ("ok", "unknown") and not is_looking(row.text):
            is_close = variant is None and since_failure <= MAX_VARIANT_STEPS
            if is_close and row.status == "ok" and is_variant(failure, row):
                variant = Repair(failure, row, tuple(changes), is_same=False)
            if not _checks(row):
                changes.append(row)
    return variant


def is_variant(failure: WorkRow, success: WorkRow) -> bool:
    """Return whether a command is another invocation of what a failed one tried."""
    is_program = failure.line.split()[:1] == success.line.split()[:1]
    if not is_program and SequenceMatcher(None, failure.line, success.line).ratio() < MIN_LIKENESS:
        return False
    tried, done = (set(_arguments(row.line)) for row in (failure, success))
    return all(any(_is_like(word, other) for other in tried) for word in done) or (
        bool(tried) and all(any(_is_like(word, other) for other in done) for word in tried)
    )


def held(repair: Repair, failures: Iterable[WorkRow]) -> bool:
    """Return whether none of the failures with the same error came after a repair in its session."""
    return not any(row.path == repair.success.path and row.id > repair.success.id for row in failures)


def together(repairs: Sequence[Repair]) -> list[list[Repair]]:
    """Return repairs in groups: those of one group made at least half of the smaller number of changes both."""
    groups = list[list[Repair]]()
    for repair in repairs:
        for group in groups:
            both = len(group[0].remedy & repair.remedy)
            if 2 * both >= min(len(group[0].remedy), len(repair.remedy)) and both:
                group.append(repair)
                break
        else:
            groups.append([repair])
    return groups


def fix_steps(repair: Repair) -> list[FixStep]:
    """Return the last changes of a repair for a reply."""
    return [
        FixStep(row.action, row.text)
        if row.action == RAN
        else FixStep(row.action, row.subject, row.detail[:MAX_SPAN_CHARS], row.text[:MAX_SPAN_CHARS])
        for row in repair.steps[-MAX_FIX_STEPS:]
    ]


def success_line(repair: Repair) -> str:
    """Return the command line that succeeded, with a change of folder if it ran in another one than the failure."""
    folder = repair.success.folder
    moved = folder and repair.failure.folder and folder != repair.failure.folder
    return f"cd {shlex.quote(folder)} && {repair.success.text}" if moved else repair.success.text


def _checks(row: WorkRow) -> bool:
    """Return whether a command only tests or builds something: `cargo test` does, `cargo add` doesn't."""
    return is_check(row.subject.rpartition(" ")[2]) and row.line.split()[1:2] != ["install"]


def _invocation(row: WorkRow) -> tuple[str, str]:
    return " ".join(row.text.split()), row.folder


def _arguments(line: str) -> Iterator[str]:
    """Yield the words of a command line after the program that aren't options."""
    yield from (word for word in line.split()[1:] if not word.startswith("-"))


def _is_like(word: str, other: str) -> bool:
    """Return whether two arguments are equal, one path contains the other, or one is the other mistyped."""
    if word == other or other.endswith(f"/{word}") or posixpath.basename(other).partition(".")[0] == word:
        return True
    if "/" in word or "." in word or "::" in word:
        one, two = posixpath.normpath(word), posixpath.normpath(other)
        return one == two or one.startswith(f"{two}/") or two.startswith(f"{one}/") or two == "."
    return SequenceMatcher(None, word, other).ratio() >= MIN_WORD_LIKENESS
