"""The work of a session as rows of the index."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Sequence
from typing import Final

from msgspec import Struct, field

from memd.index.work import RAN, WorkRow
from memd.programs.work import Command, Step, located
from memd.text.work.commands import command_key, normalize_command
from memd.text.work.errors import error_key

MAX_STEPS: Final = 20_000
"""Steps of one session that are indexed: the newest ones."""


class SessionWork(Struct):
    """The steps of a session and their rows: those of unchanged steps are kept, because normalizing takes time."""

    steps: list[Step] = field(default_factory=list)
    rows: list[WorkRow] = field(default_factory=list)
    folder: str = ""

    def update(self, steps: Sequence[Step], folder: str) -> tuple[WorkRow, ...]:
        """Return the rows of the steps of a session in a folder; a file that was read again has one row."""
        known = len(self.steps) if folder == self.folder else 0
        self.rows = [
            self.rows[at] if at < known and step is self.steps[at] else row_of(step, folder)
            for at, step in enumerate(steps)
        ]
        self.steps, self.folder = list(steps), folder
        seen = set[str]()
        rows = list[WorkRow]()
        for row in self.rows[-MAX_STEPS:]:
            if row.action != "read" or row.subject not in seen:
                rows.append(row)
            if row.action != RAN:
                seen.add(row.subject)
        return tuple(rows)


def row_of(step: Step, folder: str) -> WorkRow:
    """Return a step of a session in a folder as a row."""
    (step,) = located([step], folder)
    time_ms = step.time_ms or 0
    if isinstance(step, Command):
        error = error_key(step.output, is_failed=True) if step.status == "failed" else ""
        names = command_key(step.line), normalize_command(step.line)
        row = WorkRow(
            step.place,
            time_ms,
            RAN,
            step.status,
            step.exit_code,
            step.folder,
            *names,
            error,
            step.line,
            step.output,
        )
    else:
        name = posixpath.basename(step.path)
        row = WorkRow(
            step.place, time_ms, step.action, step.status, None, "", step.path, name, "", step.new, step.old
        )
    digest = hashlib.blake2b(repr(row).encode("utf-8", "replace"), digest_size=8).digest()
    return row._replace(digest=int.from_bytes(digest, "big", signed=True))
