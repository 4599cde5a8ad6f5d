"""What only the engine can tell, asked of a process of its own: a disk that hangs can't hold up the command."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from memd.cli.checks.finding import WRONG, Finding

Report = dict[str, Any]

PROGRAM = (sys.executable, "-P", "-m", "memd.service.check")

SETTINGS_S = 20.0
"""How long a look at programs, settings and files may take: a second, or more on a slow disk."""

INDEXES_S = 120.0
"""How long reading all indexes from end to end may take: about a second a gigabyte."""


def ask_engine(
    what: str, timeout_s: float | None = None, program: Sequence[str] = PROGRAM
) -> tuple[Report, list[Finding]]:
    """Return a report, and where there is none, a finding that says why."""
    timeout_s = (SETTINGS_S if what == "settings" else INDEXES_S) if timeout_s is None else timeout_s
    name = "settings and files" if what == "settings" else "indexes"
    with contextlib.suppress(OSError):
        process = subprocess.Popen(
            [*program, what], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            out, err = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            _abandon(process)
            found = f"looking at {name} did not end within {timeout_s:g} s"
            fix = "Is a disk or a network file system hanging? `df` hangs as well then."
            return {}, [Finding("installation", name, WRONG, found, fix)]
        try:
            report = json.loads(out)
            assert isinstance(report, dict)
            return report, []
        except (ValueError, AssertionError):
            told = err.decode("utf-8", "replace").strip().splitlines()
            why = told[-1] if told else f"it ended with {process.returncode}"
            found = f"looking at {name} failed: {why}"
            return {}, [Finding("installation", name, WRONG, found, _repair_hint())]
    return {}, [Finding("installation", name, WRONG, f"{program[0]} can't be run", _repair_hint())]


def _repair_hint() -> str:
    from memd_client.installation import Installation

    return Installation().repair_hint()


def _abandon(process: subprocess.Popen[bytes]) -> None:
    """End a process, and don't wait for one that not even a kill can end."""
    process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(1)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
