"""The result of one check of `memctl doctor`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

OK = "ok"
WARNING = "warning"
WRONG = "wrong"

MAX_NAMED_PATHS = 3
"""Paths named in a finding; the others are counted."""


class Finding(Struct, frozen=True):
    """The result of one check.

    Attributes:
        area: The heading it is shown below.
        name: What was checked, in one or two words.
        state: `ok`, `warning` (works, but needs attention) or `wrong`.
        found: The result in words.
        fix: A command or an action; empty if none is needed.
    """

    area: str
    name: str
    state: str
    found: str
    fix: str = ""


def load_findings(rows: Iterable[Mapping[str, Any]]) -> list[Finding]:
    """Return the findings in a report."""
    return [Finding(**row) for row in rows]


def first_paths(paths: Sequence[str]) -> str:
    """Return the first few paths of a list, and how many more there are."""
    more = f" and {len(paths) - MAX_NAMED_PATHS:,} more" if len(paths) > MAX_NAMED_PATHS else ""
    return ", ".join(paths[:MAX_NAMED_PATHS]) + more
