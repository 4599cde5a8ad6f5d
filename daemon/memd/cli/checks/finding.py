"""What a check of `memctl doctor` came to. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

OK = "ok"
WARNING = "warning"
WRONG = "wrong"

NAMED = 3
"""Paths named in a finding before the rest is only counted."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        area: The group it is shown in.
        name: What was looked at, in a word or two.
        state: `ok`, `warning` (all works, and something asks for a look) or `wrong`.
        found: What is the case.
        fix: What to do, a command where there is one; empty where there is nothing to do.
    """

    area: str
    name: str
    state: str
    found: str
    fix: str = ""


def first_of(paths: Sequence[str]) -> str:
    """Return the first few paths of a list, and how many more there are."""
    more = f" and {len(paths) - NAMED:,} more" if len(paths) > NAMED else ""
    return ", ".join(paths[:NAMED]) + more
