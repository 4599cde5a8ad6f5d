"""Checks with a deadline: in a process of their own, or in a thread that is abandoned."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from memd.service.checks.finding import WRONG, Finding

if TYPE_CHECKING:
    from subprocess import Popen

T = TypeVar("T")

Report = dict[str, Any]

PROGRAM = (sys.executable, "-P", "-m", "memd.service.checks.report")

SETTINGS_TIMEOUT_S = 20.0
"""Deadline of the report on programs, settings and files; slow disks need more than a second."""

INDEXES_TIMEOUT_S = 120.0
"""Deadline of the integrity check of all indexes, which reads them whole."""


def run_report(
    what: str, pid: int = 0, *, timeout_s: float | None = None, program: Sequence[str] = PROGRAM
) -> tuple[Report, list[Finding]]:
    """Return a report of `memd.service.checks.report`, or a finding on why there is none."""
    import subprocess  # imported here: not needed if the daemon makes the report

    if timeout_s is None:
        timeout_s = SETTINGS_TIMEOUT_S if what == "settings" else INDEXES_TIMEOUT_S
    name = "settings and files" if what == "settings" else "indexes"
    with contextlib.suppress(OSError):
        process = subprocess.Popen(
            [*program, what, str(pid)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            out, err = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            _kill(process)
            found = f"check of {name} timed out after {timeout_s:g} s"
            fix = "run `df` to find a disk or network file system that does not respond"
            return {}, [Finding("installation", name, WRONG, found, fix)]
        with contextlib.suppress(ValueError):
            report = json.loads(out)
            if isinstance(report, dict):
                return report, []
        lines = err.decode("utf-8", "replace").strip().splitlines()
        reason = lines[-1] if lines else f"exit code {process.returncode}"
        return {}, [_failed(name, f"check of {name} failed: {reason}")]
    return {}, [_failed(name, f"cannot run {program[0]}")]


def _failed(name: str, found: str) -> Finding:
    from memd_client.installation import Installation

    return Finding("installation", name, WRONG, found, Installation().repair_hint())


def _kill(process: Popen[bytes]) -> None:
    """Kill a process; wait for its end for a second only."""
    from subprocess import TimeoutExpired

    process.kill()
    with contextlib.suppress(TimeoutExpired):
        process.wait(1)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def run_with_timeout(seconds: float, look: Callable[[], T], otherwise: Callable[[], T]) -> T:
    """Return the result of `look`, or of `otherwise` after the deadline; its thread is then abandoned."""
    outcome: list[T | BaseException] = []

    def run() -> None:
        try:
            outcome.append(look())
        except BaseException as error:  # noqa: BLE001 - raised again in the calling thread
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    result = outcome[0] if outcome else otherwise()
    if isinstance(result, BaseException):
        raise result
    return result
